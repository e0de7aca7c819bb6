package check

import (
	"slices"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/configfield"
)

// MonitorTypes returns all types of monitors: that of heartbeats, and the Types.
func MonitorTypes() []allswell.MonitorType {
	all := []allswell.MonitorType{allswell.MonitorHeartbeat}
	for _, t := range Types {
		all = append(all, t.Name)
	}
	return all
}

// SharedField is a field with the types that have it. Kind and Secret are the same in all of them.
type SharedField struct {
	Field
	Types []Type
}

// Fields returns the fields of all types, each once, in the order of the types.
func Fields() (all []SharedField) {
	for _, t := range Types {
		for _, f := range t.Fields {
			if i := slices.IndexFunc(all, func(s SharedField) bool { return s.Name == f.Name }); i >= 0 {
				all[i].Types = append(all[i].Types, t)
			} else {
				all = append(all, SharedField{f, []Type{t}})
			}
		}
	}
	return all
}

// Field returns the field of a name.
func (t Type) Field(name string) (Field, bool) { return configfield.Find(t.Fields, name) }
