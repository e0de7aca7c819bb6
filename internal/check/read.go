package check

import (
	"encoding/json"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/configfield"
)

// Read separates the fields of a check in a request into the configuration that is shown, with defaults, and the
// secrets: see configfield.Read.
func (t Type) Read(fields map[string]json.RawMessage) (config json.RawMessage, secrets map[string]json.RawMessage, err error) {
	return configfield.Read(t.Fields, t.New(), fields, allswell.MaxCheckConfig)
}

// Probe returns the configured probe of a monitor, from what Read returned. The error is an *allswell.ValidationError
// if the configuration is not valid any more.
func (t Type) Probe(config json.RawMessage, secrets map[string]json.RawMessage) (Probe, error) {
	p := t.New()
	return p, configfield.Configure(p, config, secrets)
}
