package frame

import (
	"github.com/allswell/allswell/internal/domain/kernel"
	fields "github.com/allswell/allswell/internal/resource/field"
)

// FieldOf returns the field of a form for a field of a resource.
func FieldOf(i fields.Info) Field {
	x := Field{Name: i.Name, Label: i.Label, Hint: i.Hint, Placeholder: i.Placeholder, Optional: !i.Required}
	if i.Empty != "" && i.Empty != "none" && i.Hint == "" && i.None == "" {
		x.Hint = "Default: " + i.Empty + "."
	}
	if i.Kind == fields.KindMarkdown || i.Kind == fields.KindText && i.Max > kernel.MaxTitleLength { // of several lines
		x.Type, x.Rows = "textarea", 3
	}
	switch i.Kind {
	case fields.KindSlug: // it cannot be removed
		x.Hint = "Leave empty at creation to derive it from the name."
	case fields.KindLines:
		x.Type, x.Rows = "textarea", 2
	case fields.KindTime:
		x.Type = "datetime-local"
	case fields.KindDate:
		x.Type = "date"
	case fields.KindClock:
		x.Type = "time"
	case fields.KindDuration:
		if !i.Typed {
			x.Type, x.Optional, x.Hint = "select", false, "" // the screen says what can be chosen
		}
	case fields.KindChoice, fields.KindReference, fields.KindBool:
		x.Type, x.Optional = "select", false
		if i.None != "" {
			x.Options = []Option{{Label: i.None}}
		}
	}
	for _, o := range i.Options {
		x.Options = append(x.Options, Option{Value: o.Value, Label: o.Label})
	}
	return x
}
