package frame

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Form is the input of a form, and its errors. Fields have the names of the API, so that errors of the store appear
// beside their fields.
type Form struct {
	Values         url.Values
	SavedMeanwhile url.Values // the values that someone else has saved meanwhile; nil: nothing
	Invalid        *kernel.ValidationError
	Drawn          map[string]bool   // the fields whose errors are drawn
	labels         map[string]string // the labels of the fields that are drawn
	Focused        bool              // a field has the focus

	// Sentences replace texts of the API about problems, by the code of the problem.
	Sentences map[string]string

	existing string // the URL of an object with the same name, if a second one is allowed; "": none

	WorkspaceID string // the workspace that the form changes; "": the workspace of the session
}

// NewForm returns a form with typed or initial values.
func NewForm(values url.Values) *Form {
	return &Form{Values: values, Drawn: map[string]bool{}, labels: map[string]string{}}
}

// Refused stores err if it is a *kernel.ValidationError, and reports whether it is. The caller must handle other
// errors.
func (f *Form) Refused(err error) bool {
	return errors.As(err, &f.Invalid)
}

// Refuse adds an error to a field.
func (f *Form) Refuse(name, code string, args ...any) { f.problems().Add(name, code, args...) }

// problems returns the errors of the form, for adding one.
func (f *Form) problems() *kernel.ValidationError {
	if f.Invalid == nil {
		f.Invalid = new(kernel.ValidationError)
	}
	return f.Invalid
}

// setWorkspace sets the workspace in which the form acts.
func (f *Form) setWorkspace(id string) { f.WorkspaceID = id }

// Version returns the value of the form's hidden field for the version of an object. It is the version that the visitor
// first saw, through previews and refused input, so that a change by somebody else is noticed. now is the object's
// current version, which the visitor sees with a new form, and with the report of a conflict.
func (f *Form) Version(name, now string, conflict bool) string {
	if conflict {
		return now
	}
	return cmp.Or(f.Value(name), now)
}

// UnchangedSince returns the precondition that an object still has the version from which a posted form was drawn.
// Without a version in the form, the precondition always fails.
func UnchangedSince(posted url.Values) kernel.Precondition {
	return kernel.Precondition{Tags: []string{cmp.Or(posted.Get("tag"), "none")}}
}

// Value returns the input of a field.
func (f *Form) Value(name string) string { return f.Values.Get(name) }

// HasErrors reports whether the input is invalid.
func (f *Form) HasErrors() bool { return f.Invalid != nil }

// Field is a field of a form, as the template "field" draws it.
type Field struct {
	Name, Label, Type, Value, Hint string
	ID                             string // of the element; "": the name
	Placeholder, Autocomplete      string
	InputMode                      string   // the keyboard of a phone; "": the keyboard of the type
	Options                        []Option // of a select
	Suggestions                    []string // of a text
	Rows                           int      // of a textarea
	Optional, Focus                bool
	Wide                           bool // in a form with two columns, it takes both
	Bare                           bool // optional, but not marked as such
	Short                          bool // boxes with short labels, several in a line
	Errors                         []string
	Existing                       string // the URL of an object with the same name, if two are allowed; "": none
	// the values that someone else has saved meanwhile, if it differs from the input
	Saved string
}

// MaxBoxes is the maximum number of boxes in a compact list that are all shown unfolded.
const MaxBoxes = 6

// Shown returns the boxes of a compact list that are shown unfolded: the selected ones, or all if there are few.
func (x Field) Shown() (all []Option) {
	for _, o := range x.Options {
		if o.Selected || len(x.Options) <= MaxBoxes {
			all = append(all, o)
		}
	}
	return all
}

// WithOptions returns the field with other options.
func (x Field) WithOptions(options []Option) Field {
	x.Options = options
	return x
}

// Folded returns the other boxes of a compact list.
func (x Field) Folded() (all []Option) {
	for _, o := range x.Options {
		if !o.Selected && len(x.Options) > MaxBoxes {
			all = append(all, o)
		}
	}
	return all
}

// Option is a choice of a select.
type Option struct {
	Value, Label string
	Selected     bool
	Focus        bool // of a box: it has the focus
}

// Draw returns a field with its input and its errors. The first field with an error gets the focus.
func (f *Form) Draw(x Field) Field {
	f.labels[x.Name] = x.Label
	if x.Type == "" {
		x.Type = "text"
	}
	if x.ID == "" {
		x.ID = x.Name
	}
	if x.Type != "password" {
		x.Value = f.Value(x.Name)
	}
	x.Options = slices.Clone(x.Options) // the field may be shared
	for i := range x.Options {
		x.Options[i].Selected = x.Options[i].Value == x.Value
	}
	x.Errors = f.ErrorsOf(x.Name, x.Label)
	if x.Name == "name" {
		x.Existing = f.existing
	}
	x.Focus = x.Focus || len(x.Errors) > 0 && !f.Focused
	f.Focused = f.Focused || x.Focus
	if f.SavedMeanwhile != nil && UnixLines(f.SavedMeanwhile.Get(x.Name)) != UnixLines(x.Value) {
		x.Saved = "“" + f.SavedMeanwhile.Get(x.Name) + "”"
		if f.SavedMeanwhile.Get(x.Name) == "" {
			x.Saved = "an empty field"
		}
		for _, o := range x.Options {
			if o.Value == f.SavedMeanwhile.Get(x.Name) {
				x.Saved = "“" + o.Label + "”"
			}
		}
	}
	if x.Type == "textarea" && strings.HasPrefix(x.Value, "\n") {
		x.Value = "\n" + x.Value // browsers ignore the first line break
	}
	return x
}

// DrawBoxes returns a field with any number of selectable options, with its errors and the errors of the API fields in
// others. The template "boxes" draws it.
func (f *Form) DrawBoxes(x Field, others ...string) Field {
	f.labels[x.Name] = x.Label
	x.ID = x.Name
	x.Options = slices.Clone(x.Options)
	for i := range x.Options {
		x.Options[i].Selected = slices.Contains(f.Values[x.Name], x.Options[i].Value)
	}
	for _, name := range append(others, x.Name) {
		x.Errors = append(x.Errors, f.ErrorsOf(name, x.Label)...)
	}
	f.Complain(&x, nil)
	if f.SavedMeanwhile != nil {
		x.Saved = x.savedBoxes(f.SavedMeanwhile[x.Name])
	}
	return x
}

// DrawAll draws fields in their order.
func (f *Form) DrawAll(all ...Field) (drawn []Field) {
	for _, x := range all {
		drawn = append(drawn, f.Draw(x))
	}
	return drawn
}

// Complain adds errors to a drawn field. The first field with errors gets the focus, or the first of its boxes that is
// shown.
func (f *Form) Complain(x *Field, errs []string) {
	x.Errors = append(x.Errors, errs...)
	switch {
	case len(x.Errors) == 0 || f.Focused:
	case x.Type != "":
		x.Focus, f.Focused = true, true
	case len(x.Options) > 0:
		at := max(0, slices.IndexFunc(x.Options, func(o Option) bool { return o.Selected }))
		x.Options[at].Focus, f.Focused = true, true
	}
}

// savedBoxes returns the labels of the saved options, or "" if they are the selected ones.
func (x Field) savedBoxes(saved []string) string {
	var labels []string
	differs := false
	for _, o := range x.Options {
		isSaved := slices.Contains(saved, o.Value)
		if isSaved {
			labels = append(labels, "“"+o.Label+"”")
		}
		differs = differs || isSaved != o.Selected
	}
	switch {
	case !differs:
		return ""
	case labels == nil:
		return "none of them"
	}
	return strings.Join(labels, ", ")
}

// FocusFirst puts the cursor into the first field with an error, or else into the first field.
func FocusFirst(lines ...[]Field) {
	first := &lines[0][0]
	for _, line := range lines {
		if at := slices.IndexFunc(line, func(x Field) bool { return len(x.Errors) > 0 }); at >= 0 {
			first = &line[at]
			break
		}
	}
	first.Focus = true
}

// FieldGroup is a group of the fields of a form. All but the first group can be folded.
type FieldGroup struct {
	Key, Title string // "": it cannot be folded
	Open       bool   // a field has an error or differs from its default
	Fields     []Field
}

// DrawGroups draws the fields of groups. It opens groups with a field that has an error or differs from its default.
func (f *Form) DrawGroups(groups []FieldGroup, isDefault func(Field) bool) []FieldGroup {
	for g := range groups {
		for i, x := range groups[g].Fields {
			groups[g].Fields[i] = f.Draw(x)
		}
		groups[g].Open = slices.ContainsFunc(groups[g].Fields, func(x Field) bool {
			// so that a secret can be replaced
			return len(x.Errors) > 0 || x.Value != "" && !isDefault(x) || isRemoval(x)
		})
	}
	return groups
}
