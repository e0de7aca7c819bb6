package api

import (
	_ "embed"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/oasdiff/yaml"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/configfield"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/web"
)

//go:embed schemas.yaml
var schemasYAML []byte

// written is the part of the document that is written by hand, in schemas.yaml.
type written struct {
	Info            object            `json:"info"`
	SecuritySchemes object            `json:"securitySchemes"`
	Requests        map[string]object `json:"requests"` // by the id of the operation
	Schemas         object            `json:"schemas"`
}

// readWritten returns schemas.yaml, and what descriptions of resources have in its place.
func readWritten() (w written, err error) {
	if _, err := yaml.Unmarshal(schemasYAML, &w, yaml.DecodeOpts{DisableTimestamps: true}); err != nil {
		return w, err
	}
	for _, d := range resource.Descriptions {
		if err := w.describe(d); err != nil {
			return w, err
		}
	}
	return w, nil
}

// tables are the lists of the domain to which schemas.yaml refers.
type tables struct {
	values map[string][]any                // by x-values
	fields map[string][]configfield.Shared // of types, by x-fields and x-written-fields
	err    error                           // a list that does not exist
}

func newTables() *tables {
	isAlias := func(s allswell.Status) bool { return s.Canonical() != s }
	return &tables{
		values: map[string][]any{
			"actorKinds":          anyOf(allswell.ActorKinds),
			"affectedStatuses":    anyOf(allswell.AffectedStatuses),
			"alertEvents":         anyOf(alert.Events),
			"alertStates":         anyOf(alert.States),
			"auditActions":        anyOf(allswell.AuditActions),
			"autoIncidentModes":   anyOf(allswell.AutoIncidentModes),
			"channels":            anyOf(allswell.Channels),
			"checkStatuses":       anyOf(allswell.CheckStatuses),
			"checkTypes":          anyOf(check.MonitorTypes()),
			"conditionActions":    anyOf(allswell.ConditionActions),
			"deliveryStates":      anyOf(allswell.DeliveryStates),
			"domainLookupResults": anyOf(allswell.DomainLookupResults),
			"domainResults":       anyOf(allswell.DomainResults),
			"domainStatuses":      anyOf(allswell.DomainStatuses),
			"downStatuses":        anyOf(allswell.DownStatuses),
			"errorCodes":          anyOf(web.ErrorCodes),
			"extensionReasons":    anyOf(allswell.ExtensionReasons),
			"gapCauses":           anyOf(allswell.GapCauses),
			"impacts":             anyOf(allswell.Impacts),
			"importResults":       anyOf(allswell.ImportResults),
			"incidentStates":      anyOf(allswell.IncidentStates),
			"monitorConditions":   anyOf(allswell.MonitorConditions),
			"monitorFilterStates": anyOf(allswell.MonitorFilterStates),
			"monitorStates":       anyOf(allswell.MonitorStates),
			"objectKinds":         anyOf(allswell.ObjectKinds),
			"pingAccesses":        anyOf(allswell.PingAccesses),
			"roles":               anyOf(allswell.Roles),
			"rolledUpStatuses":    anyOf(slices.DeleteFunc(slices.Clone(allswell.Statuses), isAlias)),
			"scheduleKinds":       anyOf(allswell.ScheduleKinds),
			"scopes":              anyOf(allswell.Scopes),
			"statuses":            anyOf(allswell.Statuses),
			"subscriberStates":    anyOf(allswell.SubscriberStates),
			"visibilities":        anyOf(allswell.Visibilities),
			"weekdays":            anyOf(alert.Weekdays),
		},
		fields: map[string][]configfield.Shared{"check": check.Fields(), "channel": alertchannel.Fields()},
	}
}

// complete writes what the tables say into a part of the document: x-values becomes the list of allowed values, and x-fields
// and x-written-fields further properties, the fields of types. The former leaves out secrets. The schema of such a
// property has x-types, the types that have the field.
func (t *tables) complete(value any) {
	switch v := value.(type) {
	case object:
		if name, ok := v["x-values"].(string); ok {
			delete(v, "x-values")
			allowed, ok := t.values[name]
			if !ok {
				t.err = fmt.Errorf("there is no list %s", name)
			}
			if _, ok := v["type"].([]any); ok { // it may be null
				allowed = slices.Concat(allowed, []any{nil})
			}
			v["enum"] = allowed
		}
		for _, key := range []string{"x-fields", "x-written-fields"} {
			if name, ok := v[key].(string); ok {
				delete(v, key)
				if v["properties"] == nil {
					v["properties"] = make(object)
				}
				fields, ok := t.fields[name]
				if !ok {
					t.err = fmt.Errorf("there are no fields of %s", name)
				}
				maps.Copy(v["properties"].(object), fieldProperties(fields, key == "x-written-fields"))
			}
		}
		for _, child := range v {
			t.complete(child)
		}
	case []any:
		for _, child := range v {
			t.complete(child)
		}
	}
}

// fieldProperties returns the schemas of fields by name. What is not written has no secrets.
func fieldProperties(fields []configfield.Shared, written bool) map[string]any {
	properties := make(map[string]any)
	for _, f := range fields {
		if written || !f.AlwaysSecret() {
			properties[f.Name] = fieldSchema(f, written)
		}
	}
	return properties
}

// fieldSchema returns the schema of a field. In requests, null stands for the default or for no secret.
func fieldSchema(f configfield.Shared, written bool) map[string]any {
	var schema map[string]any
	text := map[string]any{"type": "string", "maxLength": f.Limit()}
	switch f.Kind {
	case configfield.KindInteger:
		schema = map[string]any{"type": "integer", "minimum": f.Min, "maximum": f.Limit()}
	case configfield.KindFlag:
		schema = map[string]any{"type": "boolean"}
	case configfield.KindList:
		schema = map[string]any{"type": "array", "items": text}
	case configfield.KindMap:
		schema = map[string]any{"type": "object", "additionalProperties": text}
	default:
		schema = text
		if f.Choices != nil {
			delete(schema, "maxLength")
			schema["enum"] = anyOf(f.Choices)
		}
	}
	if written {
		schema["type"] = []any{schema["type"], "null"}
		if choices, ok := schema["enum"].([]any); ok {
			schema["enum"] = append(choices, nil)
		}
		schema["writeOnly"] = true
		if !f.AlwaysSecret() {
			delete(schema, "writeOnly")
		}
	}
	schema["description"] = fieldDescription(f)
	var types []any
	for _, t := range f.Of {
		types = append(types, t.Type)
	}
	schema["x-types"] = types
	return schema
}

func anyOf[T any](values []T) (all []any) {
	for _, v := range values {
		all = append(all, v)
	}
	return all
}

// fieldDescription says to which types a field belongs, and what it means in them.
func fieldDescription(f configfield.Shared) string {
	var meanings []string
	types := make(map[string][]string)
	for _, t := range f.Of {
		own := t.Field
		text := strings.TrimSuffix(own.Help, ".") + "."
		if own.Required {
			text += " Required."
		}
		if own.Default != "" && !own.Secret {
			text += " Default: `" + own.Default + "`."
		}
		if own.Secret {
			text += " A secret, which is never shown."
		}
		if !slices.Contains(meanings, text) {
			meanings = append(meanings, text)
		}
		types[text] = append(types[text], "`"+t.Type+"`")
	}
	for i, text := range meanings {
		meanings[i] = "Of " + strings.Join(types[text], ", ") + ": " + text
	}
	return strings.Join(meanings, " ")
}

// completeNullables replaces every "anyOf: [SCHEMA, {type: null}]" of a document by a schema whose type is a list with
// "null", because generators of clients make a union of two types from the former, or fail. A reference to X becomes one
// to NullableX, which is added to the document, and takes the place of an X to which nothing else refers.
func completeNullables(document object) {
	schemas := document["components"].(object)["schemas"].(object)
	var complete func(value any)
	complete = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for _, child := range v {
				complete(child)
			}
			choices, _ := v["anyOf"].([]any)
			if len(choices) != 2 || !reflect.DeepEqual(choices[1], map[string]any{"type": "null"}) {
				return
			}
			delete(v, "anyOf")
			choice := choices[0].(map[string]any)
			ref, ok := choice["$ref"].(string)
			if !ok {
				maps.Copy(v, nullable(choice))
				return
			}
			name := strings.TrimPrefix(ref, "#/components/schemas/")
			if _, ok := schemas["Nullable"+name]; !ok {
				schemas["Nullable"+name] = nullable(schemas[name].(map[string]any))
			}
			v["$ref"] = "#/components/schemas/Nullable" + name
		case []any:
			for _, child := range v {
				complete(child)
			}
		}
	}
	complete(document)
	for name := range maps.Clone(schemas) {
		if _, ok := schemas["Nullable"+name]; ok && !mentions(document, "#/components/schemas/"+name) {
			delete(schemas, name)
		}
	}
}

// mentions reports whether a text is a value in a document.
func mentions(value any, text string) bool {
	is := func(child any) bool { return mentions(child, text) }
	switch v := value.(type) {
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), is)
	case []any:
		return slices.ContainsFunc(v, is)
	}
	return value == text
}

// nullable returns a schema that also allows null.
func nullable(schema map[string]any) map[string]any {
	schema = maps.Clone(schema)
	schema["type"] = []any{schema["type"], "null"}
	if values, ok := schema["enum"].([]any); ok {
		schema["enum"] = append(values[:len(values):len(values)], nil)
	}
	return schema
}

// openResponses lets objects have fields that the document does not name. Only those of responses forbid them at first,
// so that tests find fields that it lacks; a client that others generated must still read the answers of later versions.
func openResponses(value any) {
	switch v := value.(type) {
	case map[string]any:
		if v["additionalProperties"] == false {
			delete(v, "additionalProperties")
		}
		for _, child := range v {
			openResponses(child)
		}
	case []any:
		for _, child := range v {
			openResponses(child)
		}
	}
}
