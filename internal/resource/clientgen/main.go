// Command clientgen writes the parts of package client that follow from the descriptions of resources, and from the
// enumerations of the domain.
package main

import (
	"bytes"
	_ "embed"
	"go/format"
	"log"
	"os"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
)

func main() {
	for name, generate := range map[string]func() ([]byte, error){
		"resources_generated.go": func() ([]byte, error) { return generate(resource.Descriptions) },
		"enums_generated.go":     func() ([]byte, error) { return generateEnums("../internal/domain") },
	} {
		code, err := generate()
		if err == nil {
			err = os.WriteFile(name, code, 0o644)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

//go:embed resources.tmpl
var source string

// generate returns the Go code for resources.
func generate(descriptions []field.Description) ([]byte, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"shown": shownType, "sent": sentType, "changed": changedType, "go": field.GoName, "comment": comment,
		"members": members, "parts": field.PartsOf, "embedded": embedded,
	}).Parse(source)
	if err != nil {
		return nil, err
	}
	var code bytes.Buffer
	if err := t.Execute(&code, descriptions); err != nil {
		return nil, err
	}
	return format.Source(code.Bytes())
}

// members returns the members of a struct with fields. Fields of an embedded type become one entry without a name.
func members(fields []field.Info) (all []field.Info) {
	for _, f := range fields {
		if f.Within.Name != "" {
			f = field.Info{Within: f.Within}
			if slices.ContainsFunc(all, func(m field.Info) bool { return m.Within == f.Within }) {
				continue
			}
		}
		all = append(all, f)
	}
	return all
}

// embeddedType is a type that others embed.
type embeddedType struct {
	field.Embedded
	Fields  []field.Info
	Changed bool // changes embed it, too
}

// embedded returns the types that resources and their parts embed, each once.
func embedded(descriptions []field.Description) (all []embeddedType) {
	for _, d := range append(slices.Clone(descriptions), field.PartsOf(descriptions)...) {
		for _, m := range members(d.Fields) {
			if m.Within.Name == "" || slices.ContainsFunc(all, func(e embeddedType) bool {
				return e.Embedded == m.Within
			}) {
				continue
			}
			e := embeddedType{Embedded: m.Within, Changed: !d.IsPart()}
			for _, f := range d.Fields {
				if f.Within == m.Within {
					f.Empty, f.Default = "", "" // they depend on what embeds it
					e.Fields = append(e.Fields, f)
				}
			}
			all = append(all, e)
		}
	}
	return all
}

// shownType returns the type of a field in a resource.
func shownType(f field.Info) string {
	switch {
	case f.Kind == field.KindComponents:
		return "[]NamedComponent"
	case f.Kind == field.KindObjects:
		return "[]" + f.Of
	case f.Nullable && !f.Plain:
		return "*" + valueType(f)
	}
	return valueType(f)
}

// valueType returns the type of a value of a field.
func valueType(f field.Info) string {
	switch {
	case f.Kind == field.KindDuration:
		return "Seconds"
	case f.Kind == field.KindDecimal:
		return "DecimalSeconds"
	case f.Kind == field.KindOwn:
		return f.Client
	case f.Kind == field.KindPart:
		return f.Part.TypeName()
	case f.Kind == field.KindParts:
		return "[]" + f.Part.TypeName()
	case f.Kind == field.KindChoices && !isEnum(f.Type.Elem()):
		return "[]string"
	case f.Kind == field.KindClock, f.Kind == field.KindDate, f.Kind == field.KindChoice && !isEnum(f.Type):
		return "string"
	case f.Kind == field.KindComponents:
		return "[]string"
	case f.IsPointer():
		return typeName(f.Type.Elem())
	}
	return typeName(f.Type)
}

// isEnum reports whether enums_generated.go of the client has the type.
func isEnum(t reflect.Type) bool {
	book, ok := strings.CutPrefix(t.PkgPath(), "github.com/allswell/allswell/internal/domain/")
	return ok && book != "alert"
}

// typeName returns the name of a type in the client.
func typeName(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Slice:
		return "[]" + typeName(t.Elem())
	case t == reflect.TypeFor[audience.Channel]():
		return "SubscriberChannel" // Channel is a resource
	case isEnum(t):
		return t.Name()
	}
	return t.String()
}

// sentType returns the type and the tag of a field in the struct that describes a new resource.
func sentType(f field.Info) string {
	switch {
	case f.Required && f.Kind != field.KindChoice && f.Kind != field.KindSlug: // a PUT has the slug in its address
		return valueType(f) + " `json:\"" + f.Name + "\"`"
	case f.ZeroIsGiven():
		return "*" + valueType(f) + " `json:\"" + f.Name + ",omitempty\"`"
	}
	return valueType(f) + " `json:\"" + f.Name + ",omitempty\"`"
}

// changedType returns the type and the tag of a field in a change.
func changedType(f field.Info) string {
	if f.Nullable {
		return "Nullable[" + valueType(f) + "] `json:\"" + f.Name + ",omitzero\"`"
	}
	return "*" + valueType(f) + " `json:\"" + f.Name + ",omitempty\"`"
}

// comment returns the comment on a field. In a request, it says what a missing value means.
func comment(f field.Info, request bool) string {
	var parts []string
	if f.Doc != "" && unicode.IsUpper(rune(f.Doc[1])) { // an abbreviation, such as URL
		parts = append(parts, f.Doc)
	} else if f.Doc != "" {
		parts = append(parts, strings.ToLower(f.Doc[:1])+f.Doc[1:])
	}
	pointer := f.Type.Kind() == reflect.Slice || f.ZeroIsGiven() // or a list
	switch {
	case f.Kind == field.KindReferences:
		parts[0] += ": ids"
		parts = append(parts, "slugs are accepted")
	case (f.Kind == field.KindBool || f.Kind == field.KindChoices) && request && f.Default != "":
		parts = append(parts, "nil: "+f.Default)
	case f.Kind == field.KindDuration && f.Empty != "":
		if request && f.Default != "" {
			parts = append(parts, "nil: "+f.Default)
		}
		parts = append(parts, "0: "+f.Empty)
	case f.Kind == field.KindComponents && request:
		parts[0] += ", by id or slug"
	case f.Once:
		parts[0] += "; only after the call that makes it"
	case f.Detail:
		parts[0] += "; nil in lists and after changes"
	case f.Empty != "" && !request && (pointer || f.Kind == field.KindSlug) && !f.Nullable: // it always has a value
	case f.Empty != "" && (pointer || f.Nullable && !request && !f.Plain):
		parts = append(parts, "nil: "+f.Empty)
	case f.Empty != "":
		parts = append(parts, `"": `+f.Empty)
	case f.Default != "" && request && pointer:
		parts = append(parts, "nil: "+f.Default)
	case f.Default != "" && request:
		parts = append(parts, `"": `+f.Default)
	}
	if len(parts) == 0 {
		return ""
	}
	return "// " + strings.Join(parts, "; ")
}
