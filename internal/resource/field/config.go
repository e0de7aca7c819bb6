package field

import (
	"encoding/json"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// Config describes the fields that depend on the type of an object. They stand beside its other fields, in JSON and in
// the audit log. Responses do not show secrets. The field type comes before it. change returns the change that sets
// given values.
func Config[T any](
	fields []configfield.Shared, get func(*T) configfield.Config, set func(*T, configfield.Config),
	change func(given map[string]json.RawMessage, replace bool) Change[T],
) *Field[T] {
	f := &Field[T]{config: get, info: Info{Name: "config", Kind: KindConfig, Config: fields, column: "-"}}
	f.json = func(t *T) any { return get(t).Shown }
	f.audit = func(t *T) any {
		c, values := get(t), make(map[string]any)
		for _, of := range fields { // what is missing is null
			if i := slices.IndexFunc(of.Of, func(o configfield.Owner) bool {
				return o.Type == c.Type
			}); i >= 0 && !of.Of[i].Field.Secret {
				values[of.Name] = nil
			}
		}
		if c.Shown != nil {
			if err := json.Unmarshal(c.Shown, &values); err != nil {
				panic(err) // it was encoded by package configfield
			}
		}
		return values
	}
	f.copy = func(to, from *T) error {
		set(to, get(from))
		return nil
	}
	f.isZero = func(t *T) bool {
		c := get(t)
		return c.Shown == nil && c.Secrets == nil
	}
	f.check = func(*T, *kernel.ValidationError) {} // change does
	f.read = func(o *jsonobject.Object, replace bool) Change[T] {
		given := make(map[string]json.RawMessage)
		for _, of := range f.info.Config {
			if value, ok := o.Raw(of.Name); ok {
				given[of.Name] = value
			}
		}
		return change(given, replace)
	}
	return f
}

// appendMembers appends the members of an object to another object's.
func appendMembers(b []byte, object any) []byte {
	text := object.(json.RawMessage)
	if len(text) <= len("{}") {
		return b
	}
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(b, text[1:len(text)-1]...)
}
