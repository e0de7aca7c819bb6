package field

import (
	"encoding/json"
	"strings"
)

// Description is what documents and generators need of a resource.
type Description struct {
	Noun, Path, Doc string
	Fields          []Info
	Example         json.RawMessage
}

// Describe returns the description of the resource.
func (r *Resource[T]) Describe() Description {
	d := Description{Noun: r.Noun, Path: r.Path, Doc: r.Doc, Example: r.JSON(r.Example)}
	for _, f := range r.Fields {
		d.Fields = append(d.Fields, f.info)
	}
	return d
}

// TypeName returns the name of the resource in documents and code: "incident template" is IncidentTemplate.
func (d Description) TypeName() string { return GoName(strings.ReplaceAll(d.Noun, " ", "_")) }

// Argument returns the name of an argument with an object: "incident template" is template.
func (d Description) Argument() string { return d.Noun[strings.LastIndexByte(d.Noun, ' ')+1:] }

// A returns the noun with its article.
func (d Description) A() string {
	if strings.Contains("aeio", d.Noun[:1]) {
		return "an " + d.Noun
	}
	return "a " + d.Noun
}

// GoName returns the name of a field in Go: shown_from is ShownFrom, and page_id PageID.
func GoName(name string) (out string) {
	for word := range strings.SplitSeq(name, "_") {
		switch word {
		case "id", "url", "css":
			out += strings.ToUpper(word)
		case "ids":
			out += "IDs"
		default:
			out += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return out
}
