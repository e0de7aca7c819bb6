package field

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Description is the data of a resource for documents and generators.
type Description struct {
	Noun, Path, Doc string
	Type, Schema    string   // see Resource
	Calls           []string // see Resource
	OnPage, Unique  bool     // see Resource
	Slug            bool     // it has a slug
	BySlug          bool     // its slug is required, and requests name it only by its slug
	Nested          bool     // see Resource
	Fields          []Info
	part            bool            // see IsPart
	Example         json.RawMessage // with its details
}

// Describe returns the description of the resource.
func (r *Resource[T]) Describe() Description {
	d := Description{
		Noun: r.Noun, Path: r.Path, Doc: r.Doc, Type: r.Type, Schema: r.Schema, OnPage: r.OnPage, Nested: r.Nested,
		Unique: r.Unique, Slug: r.HasSlug(), Calls: r.Calls, part: r.part, Example: r.DetailJSON(r.Example),
	}
	for _, f := range r.Fields {
		d.Fields = append(d.Fields, f.info)
		d.BySlug = d.BySlug || f.info.Kind == KindSlug && f.info.Required
	}
	return d
}

// IsPart reports whether it describes objects within others.
func (d Description) IsPart() bool { return d.part }

// PartsOf returns the descriptions of the objects within the objects of resources, each once.
func PartsOf(descriptions []Description) (parts []Description) {
	for _, d := range descriptions {
		for _, f := range d.Fields {
			if f.Part != nil && !slices.ContainsFunc(parts, func(p Description) bool { return p.Noun == f.Part.Noun }) {
				parts = append(parts, *f.Part)
			}
		}
	}
	return parts
}

// TypeName returns the name of the resource in documents and code: "incident template" is IncidentTemplate.
func (d Description) TypeName() string {
	return cmp.Or(d.Type, GoName(strings.ReplaceAll(d.Noun, " ", "_")))
}

// SchemaName returns the name of the schema of an object.
func (d Description) SchemaName() string { return cmp.Or(d.Schema, d.TypeName()) }

// Argument returns the name of a variable with an object: "incident template" is template.
func (d Description) Argument() string { return lastWord(d.Noun) }

// Argument is Description.Argument.
func (r *Resource[T]) Argument() string { return lastWord(r.Noun) }

func lastWord(noun string) string { return noun[strings.LastIndexByte(noun, ' ')+1:] }

// Has reports whether a call follows from the description.
func (d Description) Has(call string) bool {
	return d.Calls == nil && !d.part && call != "add" && call != "edit" || slices.Contains(d.Calls, call)
}

// DetailName returns the name of the schema of an object with its details; "": it has none.
func (d Description) DetailName() (name string) {
	for _, f := range d.Fields {
		if f.Detail {
			name += "With" + GoName(f.Name)
		}
	}
	if name != "" {
		name = d.TypeName() + name
	}
	return name
}

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
		case "id", "url", "css", "sms":
			out += strings.ToUpper(word)
		case "ids":
			out += "IDs"
		default:
			out += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return out
}
