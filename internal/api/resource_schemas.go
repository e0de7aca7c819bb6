package api

import (
	"encoding/json"

	"github.com/allswell/allswell/internal/field"
)

// describe adds the schemas of a described resource, and those of the requests that write it.
func (w *written) describe(d field.Description) error {
	name := d.TypeName()
	shown, create, replace, change := objectSchema(), objectSchema(), objectSchema(), objectSchema()
	shown["additionalProperties"] = false
	var example object
	if err := json.Unmarshal(d.Example, &example); err != nil {
		return err
	}
	shown["example"] = example
	sent := make(object) // the example of a request that has all fields
	for _, f := range d.Fields {
		require(shown, f.Name)
		property(shown, f.Name, w.shownSchema(f))
		if f.ReadOnly {
			continue
		}
		property(create, f.Name, sentSchema(f, f.Required))
		property(replace, f.Name, sentSchema(f, f.Required))
		property(change, f.Name, sentSchema(f, false))
		if f.Required {
			require(create, f.Name)
			require(replace, f.Name)
		}
		sent[f.Name] = example[f.Name]
	}
	w.Schemas[name] = shown
	for verb, schema := range map[string]object{"create": create, "put": replace, "change": change} {
		w.Requests[verb+name] = object{"schema": schema, "example": sent}
	}
	return nil
}

func objectSchema() object { return object{"type": "object", "properties": make(object)} }

func property(schema object, name string, of object) { schema["properties"].(object)[name] = of }

func require(schema object, name string) {
	names, _ := schema["required"].([]any)
	schema["required"] = append(names, name)
}

// shownSchema returns the schema of a field in responses. That of a choice is shared.
func (w *written) shownSchema(f field.Info) object {
	switch f.Kind {
	case field.KindID:
		return object{"type": "string", "pattern": "^" + f.Prefix + "[0-9a-v]{20}$"}
	case field.KindChoice:
		w.Schemas[f.Type.Name()] = object{"type": "string", "enum": optionValues(f)}
		return refTo("schemas", f.Type.Name())
	case field.KindTime:
		schema := refTo("schemas", "Timestamp")
		if f.Nullable {
			schema = object{"anyOf": []any{schema, object{"type": "null"}}}
		}
		switch {
		case f.Nullable:
			schema["description"] = description(f)
		case f.Doc != "":
			schema["description"] = f.Doc + "."
		}
		return schema
	}
	return textSchema(f)
}

func optionValues(f field.Info) (all []any) {
	for _, o := range f.Options {
		all = append(all, o.Value)
	}
	return all
}

// textSchema returns the schema of a text.
func textSchema(f field.Info) object {
	schema := object{"type": "string", "maxLength": f.Max}
	if f.Required {
		schema["minLength"] = 1
	}
	schema["description"] = description(f)
	return schema
}

// description returns what a field is, and what a missing value means.
func description(f field.Info) string {
	text := f.Doc + "."
	if f.Empty != "" {
		missing := "Empty"
		if f.Kind == field.KindTime {
			missing = "Null"
		}
		text += " " + missing + ": " + f.Empty + "."
	}
	return text
}

// sentSchema returns the schema of a field in requests. Unless it must be given, null is like a field that is not given.
func sentSchema(f field.Info, must bool) (schema object) {
	switch f.Kind {
	case field.KindChoice:
		return object{"anyOf": []any{refTo("schemas", f.Type.Name()), object{"type": "null"}}}
	case field.KindTime:
		if f.Required {
			return refTo("schemas", "Instant")
		}
		return refTo("schemas", "OptionalInstant")
	}
	schema = textSchema(f)
	if !must {
		schema["type"] = []any{"string", "null"}
	}
	return schema
}
