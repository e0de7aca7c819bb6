package field

import (
	"encoding/json"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/configfield"
	"github.com/allswell/allswell/internal/jsonobject"
)

// Config is the fields of the type of an object, which stand beside the others, in JSON as in the audit log. Secrets are
// only written. The field with the type comes before it.
func Config[T any](types configfield.Types, get func(*T) configfield.Config, set func(*T, configfield.Config)) *Field[T] {
	f := &Field[T]{config: get, info: Info{Name: "config", Kind: KindConfig, Config: types.Fields(), column: "-"}}
	f.json = func(t *T) any { return get(t).Shown }
	f.audit = func(t *T) any {
		values := make(map[string]any)
		if shown := get(t).Shown; shown != nil {
			if err := json.Unmarshal(shown, &values); err != nil {
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
	f.check = func(*T, *allswell.ValidationError) {} // Change does
	f.read = func(o *jsonobject.Object, replace bool) Change[T] {
		given := make(map[string]json.RawMessage)
		for _, of := range f.info.Config {
			if value, ok := o.Raw(of.Name); ok {
				given[of.Name] = value
			}
		}
		return ConfigChange(types, get, set, given, replace)
	}
	return f
}

// ConfigChange returns the change of an object that sets given values of its configuration: see configfield.Types.Change.
func ConfigChange[T any](
	types configfield.Types, get func(*T) configfield.Config, set func(*T, configfield.Config), given map[string]json.RawMessage, replace bool,
) Change[T] {
	return func(v *T) error {
		c := get(v)
		err := types.Change(&c, given, replace)
		set(v, c)
		return err
	}
}

// appendMembers appends the members of an object to those of another one.
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
