package check

import (
	"encoding/json"
	"slices"

	"github.com/allswell/allswell"
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
func (t Type) Field(name string) (Field, bool) {
	i := slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return t.Fields[i], true
}

// Merge returns the fields of a check after a change: those of config and the secrets, with the values of given in place of theirs.
// A null removes one.
func (t Type) Merge(config json.RawMessage, secrets, given map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	fields := make(map[string]json.RawMessage)
	if config != nil {
		if err := json.Unmarshal(config, &fields); err != nil {
			return nil, err
		}
	}
	for _, from := range []map[string]json.RawMessage{secrets, given} {
		for name, value := range from {
			if string(value) == "null" {
				delete(fields, name)
			} else {
				fields[name] = value
			}
		}
	}
	return fields, nil
}
