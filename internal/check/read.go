package check

import (
	"encoding/json"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// Read separates the fields of a check in a request into the configuration that is shown, with defaults, and the
// secrets: see configfield.Read.
func (t Type) Read(
	fields map[string]json.RawMessage,
) (config json.RawMessage, secrets map[string]json.RawMessage, err error) {
	return configfield.Read(t.Fields, t.New(), fields, monitor.MaxCheckConfig)
}

// Change sets given fields of the type of a monitor: see configfield.Types.Change.
func Change(t monitor.MonitorType, c *monitor.CheckSpec, given map[string]json.RawMessage, replace bool) error {
	if !t.IsCheck() {
		var bad kernel.ValidationError
		for name, value := range given {
			if string(value) != "null" {
				bad.Add(name, "A monitor of the type %s has no %s.", t, kernel.Name(name))
			}
		}
		return bad.Err()
	}
	config := configfield.Config{Type: string(t), Shown: c.Config, Secrets: c.Secrets, SecretFields: c.SecretFields}
	err := types().Change(&config, given, replace)
	c.Config, c.Secrets, c.SecretFields = config.Shown, config.Secrets, config.SecretFields
	return err
}

// types returns the types in the form that package configfield needs.
func types() configfield.Types {
	all := configfield.Types{Noun: "monitor", Size: monitor.MaxCheckConfig}
	for _, t := range Types {
		all.All = append(all.All, configfield.Type{
			Name: string(t.Name), Fields: t.Fields, New: func() configfield.Destined {
				return t.New()
			},
		})
	}
	return all
}

// Probe returns the probe of a monitor with the configuration and the secrets that Read returned. The error is a
// *kernel.ValidationError if the configuration is not valid any more.
func (t Type) Probe(config json.RawMessage, secrets map[string]json.RawMessage) (Probe, error) {
	p := t.New()
	return p, configfield.Configure(p, config, secrets)
}
