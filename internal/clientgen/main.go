// Command clientgen writes the part of package client that follows from the descriptions of resources.
package main

import (
	"bytes"
	_ "embed"
	"go/format"
	"log"
	"os"
	"strings"
	"text/template"

	"github.com/allswell/allswell/internal/field"
	"github.com/allswell/allswell/internal/resource"
)

func main() {
	code, err := generate(resource.Descriptions)
	if err == nil {
		err = os.WriteFile("resources_generated.go", code, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

//go:embed resources.tmpl
var source string

// generate returns the Go code for resources.
func generate(descriptions []field.Description) ([]byte, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"shown": shownType, "sent": sentType, "changed": changedType, "go": field.GoName, "comment": comment,
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

// shownType returns the type of a field in a resource.
func shownType(f field.Info) string {
	switch {
	case f.Kind == field.KindComponents:
		return "[]NamedComponent"
	case f.Kind == field.KindObjects:
		return "[]" + f.Of
	case f.Nullable:
		return "*" + valueType(f)
	}
	return valueType(f)
}

// valueType returns the type of a value of a field.
func valueType(f field.Info) string {
	switch {
	case f.Kind == field.KindDuration:
		return "Seconds"
	case f.Kind == field.KindComponents:
		return "[]string"
	case f.IsPointer():
		return f.Type.Elem().String()
	}
	return f.Type.String()
}

// sentType returns the type of a field, and its tag, in what describes a new resource.
func sentType(f field.Info) string {
	switch {
	case f.Required && f.Kind != field.KindChoice:
		return valueType(f) + " `json:\"" + f.Name + "\"`"
	case f.Kind == field.KindTime, f.Kind == field.KindDuration, f.Kind == field.KindInteger, f.Kind == field.KindBool, f.IsPointer(), isKept(f): // the zero value is not a missing one
		return "*" + valueType(f) + " `json:\"" + f.Name + ",omitempty\"`"
	}
	return valueType(f) + " `json:\"" + f.Name + ",omitempty\"`"
}

// isKept reports whether a request that says all of an object leaves the value as it is if it does not have it.
func isKept(f field.Info) bool { return f.Kept && f.Kind != field.KindSlug }

// changedType returns the type of a field, and its tag, in a change.
func changedType(f field.Info) string {
	if f.Nullable {
		return "Nullable[" + valueType(f) + "] `json:\"" + f.Name + ",omitzero\"`"
	}
	return "*" + valueType(f) + " `json:\"" + f.Name + ",omitempty\"`"
}

// comment returns the comment on a field. That on one of a request says what a missing value means.
func comment(f field.Info, request bool) string {
	var parts []string
	if f.Doc != "" {
		parts = append(parts, strings.ToLower(f.Doc[:1])+f.Doc[1:])
	}
	pointer := f.Kind == field.KindTime || f.Kind == field.KindInteger || f.IsPointer() || isKept(f)
	switch {
	case f.Kind == field.KindDuration:
		if request && f.Default != "" {
			parts = append(parts, "nil: "+f.Default)
		}
		parts = append(parts, "0: "+f.Empty)
	case f.Kind == field.KindComponents && request:
		parts[0] += ", by id or slug"
	case f.Detail:
		parts[0] += "; nil in lists and after changes"
	case f.Empty != "" && !request && (pointer || f.Kind == field.KindSlug) && !f.Nullable: // it always has a value
	case f.Empty != "" && (pointer || f.Nullable && !request):
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
