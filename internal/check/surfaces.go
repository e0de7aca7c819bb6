package check

import (
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// MonitorTypes returns all types of monitors: the type of heartbeats, and the Types.
func MonitorTypes() []monitor.MonitorType {
	all := []monitor.MonitorType{monitor.MonitorHeartbeat}
	for _, t := range Types {
		all = append(all, t.Name)
	}
	return all
}

// Fields returns the fields of all types, each once, in the order of the types. Kind and Secret are the same in all of
// them.
func Fields() (all []configfield.Shared) {
	for _, t := range Types {
		all = configfield.Share(all, string(t.Name), t.Fields)
	}
	return all
}

// Field returns the field of a name.
func (t Type) Field(name string) (Field, bool) { return configfield.Find(t.Fields, name) }
