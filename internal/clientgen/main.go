// Command clientgen writes the part of package client that follows from the descriptions of resources.
package main

import (
	"bytes"
	_ "embed"
	"go/format"
	"log"
	"os"
	"reflect"
	"strings"
	"text/template"
	"time"

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
	if f.Nullable {
		return "*" + f.Type.String()
	}
	return f.Type.String()
}

// sentType returns the type of a field, and its tag, in what describes a new resource.
func sentType(f field.Info) string {
	switch {
	case f.Required:
		return f.Type.String() + " `json:\"" + f.Name + "\"`"
	case f.Type == reflect.TypeFor[time.Time]():
		return "*time.Time `json:\"" + f.Name + ",omitempty\"`"
	}
	return f.Type.String() + " `json:\"" + f.Name + ",omitempty\"`"
}

// changedType returns the type of a field, and its tag, in a change.
func changedType(f field.Info) string {
	if f.Nullable {
		return "Nullable[" + f.Type.String() + "] `json:\"" + f.Name + ",omitzero\"`"
	}
	return "*" + f.Type.String() + " `json:\"" + f.Name + ",omitempty\"`"
}

// comment returns the comment on a field. That on one of a request says what a missing value means.
func comment(f field.Info, request bool) string {
	var parts []string
	if f.Doc != "" {
		parts = append(parts, strings.ToLower(f.Doc[:1])+f.Doc[1:])
	}
	switch {
	case f.Empty != "" && (f.Nullable || request && f.Kind == field.KindTime):
		parts = append(parts, "nil: "+f.Empty)
	case f.Empty != "" && f.Kind != field.KindTime:
		parts = append(parts, `"": `+f.Empty)
	case f.Default != "" && request:
		parts = append(parts, `"": `+f.Default)
	}
	if len(parts) == 0 {
		return ""
	}
	return "// " + strings.Join(parts, "; ")
}
