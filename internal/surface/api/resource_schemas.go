package api

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/field"
)

// describe adds the schemas of a described resource and of the requests that write it.
func (c *contents) describe(d field.Description) error {
	var example object
	if err := json.Unmarshal(d.Example, &example); err != nil {
		return err
	}
	c.schemas[d.SchemaName()] = c.shown(d, example, false)
	for _, part := range field.PartsOf([]field.Description{d}) {
		if err := c.describe(part); err != nil {
			return err
		}
	}
	if name := d.DetailName(); name != "" {
		c.schemas[name] = c.shown(d, example, true)
	}
	for call, request := range map[string]field.Request{
		"create": field.Creation, "add": field.Creation, "put": field.Replacement, "change": field.Changing,
		"edit": field.Changing,
	} {
		if d.Has(call) {
			described := c.sent(d, example, request)
			if examples := c.takeExamples(call + d.TypeName()); examples != nil {
				delete(described, "example")
				described["examples"] = examples
			}
			c.requests[call+d.TypeName()] = described
		}
	}
	return nil
}

// shown returns the schema of an object in responses.
func (c *contents) shown(d field.Description, example object, details bool) object {
	schema, sample := objectSchema(), make(object)
	if d.IsPart() { // requests have it, too
		schema["description"] = strings.ToUpper(d.Doc[:1]) + d.Doc[1:] + "."
	}
	for _, f := range d.Fields {
		switch {
		case f.Kind == field.KindConfig:
			addConfig(schema, sample, example, f, false)
		case !f.WriteOnly && (details || !f.Detail):
			if !f.Once && (f.Required || f.ReadOnly && f.Kind != field.KindID || !d.IsPart()) {
				require(schema, f.Name)
			}
			f.Nullable = f.Nullable || f.OfSome
			property(schema, f.Name, c.shownSchema(f))
			sample[f.Name] = example[f.Name]
		}
	}
	schema["example"] = sample
	return schema
}

// sent returns the schema and the example of a request. A request that changes an object may omit any field. The
// example has all fields.
func (c *contents) sent(d field.Description, example object, r field.Request) object {
	change := r == field.Changing
	schema, sample := objectSchema(), make(object)
	for _, f := range d.Fields {
		if !f.In(r) {
			continue
		}
		if f.Kind == field.KindConfig {
			addConfig(schema, sample, example, f, true)
			continue
		}
		must := f.Required && !change && !(f.Kind == field.KindSlug && r == field.Replacement) // which the address has
		value := c.sentSchema(f, must)
		if text, ok := value["description"].(string); ok && f.Default != "" && !change {
			value["description"] = text + " Default: " + f.Default + "."
		}
		if f.Kind == field.KindSlug && !change && !f.Required { // an empty one of a new object is made from the name
			value["pattern"] = "^[a-z0-9-]{0,63}$"
		}
		property(schema, f.Name, value)
		if must {
			require(schema, f.Name)
		}
		if value, ok := example[f.Name]; ok {
			sample[f.Name] = sentValue(f, value)
		}
	}
	if d.Unique && !change {
		property(schema, "unique_name", refTo("schemas", "UniqueName"))
	}
	return object{"schema": schema, "example": sample}
}

// addConfig adds the fields of types to a schema and to its example.
func addConfig(schema, sample, example object, f field.Info, sent bool) {
	for name, of := range fieldProperties(f.Config, sent) {
		property(schema, name, of.(object))
		if value, ok := example[name]; ok {
			sample[name] = value
		}
	}
}

// sentValue returns a value of a response as a request gives it.
func sentValue(f field.Info, value any) any {
	if f.Kind != field.KindComponents {
		return value
	}
	refs := []any{}
	for _, c := range value.([]any) {
		refs = append(refs, c.(object)["id"])
	}
	return refs
}

func objectSchema() object { return object{"type": "object", "properties": make(object)} }

func property(schema object, name string, of object) { schema["properties"].(object)[name] = of }

func require(schema object, name string) {
	names, _ := schema["required"].([]any)
	schema["required"] = append(names, name)
}

// shownSchema returns the schema of a field in responses. The schema of a choice is shared.
func (c *contents) shownSchema(f field.Info) object {
	switch f.Kind {
	case field.KindID:
		return object{"type": "string", "pattern": "^" + f.Prefix + "[0-9a-v]{20}$"}
	case field.KindChoice:
		return shownRef(f, c.choice(f))
	case field.KindChoices, field.KindTexts, field.KindReferences, field.KindParts:
		return listSchema(f, c.item(f))
	case field.KindDuration, field.KindDecimal:
		return durationSchema(f, f.Nullable)
	case field.KindPart:
		return shownRef(f, f.Part.TypeName())
	case field.KindOwn:
		return shownRef(f, f.Schema)
	case field.KindComponents:
		component := objectSchema()
		require(component, "id")
		require(component, "name")
		property(component, "id", object{"type": "string", "pattern": "^" + kernel.PrefixComponent + "[0-9a-v]{20}$"})
		property(component, "name", refTo("schemas", "Name"))
		return object{
			"type": "array", "maxItems": statuspage.MaxAffectedComponents, "items": component,
			"description": f.Doc + ": those that still exist, in their order on the page.",
		}
	case field.KindObjects:
		return object{"type": "array", "items": refTo("schemas", f.Of), "description": description(f)}
	case field.KindTime:
		return shownRef(f, "Timestamp")
	}
	return valueSchema(f, f.Nullable)
}

// choice returns the name of the schema of a choice, which all fields with this choice share.
func (c *contents) choice(f field.Info) string {
	if c.schemas[f.Schema] == nil && c.byHand.Schemas[f.Schema] == nil {
		c.schemas[f.Schema] = object{"type": "string", "enum": optionValues(f)}
	}
	return f.Schema
}

// item returns the schema of the items of a list.
func (c *contents) item(f field.Info) object {
	switch f.Kind {
	case field.KindChoices:
		return refTo("schemas", c.choice(f))
	case field.KindParts:
		return refTo("schemas", f.Part.TypeName())
	}
	return object{"type": "string"}
}

// listSchema returns the schema of a list.
func listSchema(f field.Info, item object) object {
	schema := object{"type": "array", "items": item, "description": description(f)}
	if f.Items > 0 {
		schema["maxItems"] = f.Items
	}
	return schema
}

// shownRef returns the schema of a field that refers to a named schema.
func shownRef(f field.Info, name string) object {
	schema := refTo("schemas", name)
	switch {
	case f.Nullable:
		return object{"anyOf": []any{schema, object{"type": "null"}}, "description": description(f)}
	case (f.Kind == field.KindTime || f.Kind == field.KindPart) && f.Doc != "":
		schema["description"] = f.Doc + "."
	}
	return schema
}

func optionValues(f field.Info) (all []any) {
	for _, o := range f.Options {
		all = append(all, o.Value)
	}
	return all
}

// valueSchema returns the schema of a text or a number.
func valueSchema(f field.Info, null bool) object {
	schema := object{"type": "string", "description": description(f)}
	switch f.Kind {
	case field.KindSlug:
		schema["pattern"] = "^[a-z0-9-]{1,63}$"
	case field.KindInteger:
		if schema["type"], schema["minimum"] = "integer", f.Least; f.Most > 0 {
			schema["maximum"] = f.Most
		}
	case field.KindBool:
		schema["type"] = "boolean"
	case field.KindDate:
		schema["format"] = "date"
	case field.KindClock:
		schema["pattern"] = "^[0-2][0-9]:[0-5][0-9]$"
	default:
		if f.Max > 0 {
			schema["maxLength"] = f.Max
		}
		if f.Pattern != "" {
			schema["pattern"] = f.Pattern
		}
		if f.Required || f.NotEmpty {
			schema["minLength"] = 1
		}
	}
	if null {
		schema["type"] = []any{schema["type"], "null"}
	}
	return schema
}

// durationSchema returns the schema of a duration.
func durationSchema(f field.Info, null bool) object {
	schema := object{"type": "integer", "minimum": 0, "description": description(f)}
	if f.Longest > 0 {
		schema["maximum"] = int(f.Longest / time.Second)
	}
	if f.Required || f.Nullable {
		schema["minimum"] = int(f.Shortest / time.Second)
	}
	if f.Kind == field.KindDecimal {
		schema["type"], schema["minimum"] = "number", 0.001
	}
	if null {
		schema["type"] = []any{schema["type"], "null"}
	}
	return schema
}

// description returns what a field is, and the meaning of a missing value.
func description(f field.Info) string {
	text := f.Doc + "."
	switch {
	case f.Kind == field.KindDuration:
		first, rest, more := strings.Cut(f.Doc, ". ")
		if text = first + ", in seconds."; more {
			text += " " + rest + "."
		}
	case f.Kind == field.KindReferences:
		text = f.Doc + ": ids. Requests may have slugs."
	case f.Once:
		text = f.Doc + ". It is shown only once, and cannot be retrieved later."
	}
	if f.Empty != "" {
		text += " " + missingWords[f.Missing()] + ": " + f.Empty + "."
	}
	return text
}

// missingWords describe how a missing value is represented.
var missingWords = map[field.Missing]string{
	field.MissingAbsent: "Absent in a request that creates one", field.MissingNull: "Null", field.MissingZero: "0",
	field.MissingEmpty: "Empty",
}

// sentSchema returns the schema of a field in requests. If the field is not required, null is like an absent field.
func (c *contents) sentSchema(f field.Info, must bool) (schema object) {
	switch f.Kind {
	case field.KindChoice:
		if must {
			return refTo("schemas", f.Schema)
		}
		return object{"anyOf": []any{refTo("schemas", f.Schema), object{"type": "null"}}, "description": description(f)}
	case field.KindPart:
		return shownRef(f, f.Part.TypeName())
	case field.KindChoices, field.KindTexts, field.KindReferences, field.KindParts:
		schema = listSchema(f, c.item(f))
		schema["type"] = []any{"array", "null"}
		if f.NullEmpties() {
			schema["description"] = description(f) + " Null empties the list."
		}
		return schema
	case field.KindTime:
		if must {
			return refTo("schemas", "Instant")
		}
		return refTo("schemas", "OptionalInstant")
	case field.KindDuration, field.KindDecimal:
		return durationSchema(f, true)
	case field.KindOwn:
		return refTo("schemas", f.SentSchema)
	case field.KindComponents:
		return object{
			"type": []any{"array", "null"}, "maxItems": statuspage.MaxAffectedComponents,
			"items":       object{"type": "string"},
			"description": f.Doc + ": ids or slugs of components of the page, each once.",
		}
	}
	return valueSchema(f, !must)
}
