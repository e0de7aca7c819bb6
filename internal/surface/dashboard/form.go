package dashboard

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// form is the input of a form, and its errors. Fields are named as in the API, so that the errors of
// the store stand beside their fields.
type form struct {
	values  url.Values
	saved   url.Values // the values that somebody else has saved meanwhile; nil: nothing
	bad     *kernel.ValidationError
	shown   map[string]bool   // the fields whose errors are drawn
	labels  map[string]string // of the fields that are drawn
	focused bool              // a field has the focus

	existing string // the address of what has the name that was typed, and may be had twice; "": nothing

	WorkspaceID string // in which the form acts; "": in that of the session
}

// newForm returns a form with the values that were typed, or with those to begin with.
func newForm(values url.Values) *form {
	return &form{values: values, shown: map[string]bool{}, labels: map[string]string{}}
}

// refused notes the errors of the fields and reports whether err is about the form. Other errors have to be returned.
func (f *form) refused(err error) bool {
	return errors.As(err, &f.bad)
}

// refuse adds an error to a field.
func (f *form) refuse(name, code string, args ...any) { f.problems().Add(name, code, args...) }

// problems returns the errors of the form, to which the caller adds one.
func (f *form) problems() *kernel.ValidationError {
	if f.bad == nil {
		f.bad = new(kernel.ValidationError)
	}
	return f.bad
}

// setWorkspace notes in which workspace the form acts.
func (f *form) setWorkspace(id string) { f.WorkspaceID = id }

// version returns the version of the object that the form edits, for its hidden field: the version that the visitor has
// seen, through previews and refusals, so that a change by somebody else is noticed. now is the object's version, which
// is seen with a new form, or with what the form says of a conflict.
func (f *form) version(name, now string, conflict bool) string {
	if conflict {
		return now
	}
	return cmp.Or(f.Value(name), now)
}

// shownVersion returns the condition that an object still has the version that a form was made from. A form that does
// not say one changes nothing.
func shownVersion(posted url.Values) kernel.Precondition {
	return kernel.Precondition{Tags: []string{cmp.Or(posted.Get("tag"), "none")}}
}

// Value returns the input of a field.
func (f *form) Value(name string) string { return f.values.Get(name) }

// HasErrors reports whether the input is invalid.
func (f *form) HasErrors() bool { return f.bad != nil }

// field is a field of a form, as the template "field" draws it.
type field struct {
	Name, Label, Type, Value, Hint string
	ID                             string // of the element; "": the name
	Placeholder, Autocomplete      string
	InputMode                      string   // the keyboard of a phone; "": that of the type
	Options                        []option // of a select
	Suggestions                    []string // of a text
	Rows                           int      // of a textarea
	Optional, Focus                bool
	Wide                           bool // in a form with two columns, it takes both
	Bare                           bool // optional, without a word about it
	Short                          bool // boxes with short labels, several in a line
	Errors                         []string
	Existing                       string // the address of what has this name; "": nothing, or it must not be had twice
	// the values that somebody else has saved meanwhile, if it differs from the input
	Saved string
}

// maxBoxes is the number of boxes up to which all of a compact list are shown at once.
const maxBoxes = 6

// Shown returns the boxes of a compact list that are shown at once: those that are chosen, or all if there are few.
func (x field) Shown() (all []option) {
	for _, o := range x.Options {
		if o.Selected || len(x.Options) <= maxBoxes {
			all = append(all, o)
		}
	}
	return all
}

// WithOptions returns the list with other boxes.
func (x field) WithOptions(options []option) field {
	x.Options = options
	return x
}

// Folded returns the other boxes of a compact list.
func (x field) Folded() (all []option) {
	for _, o := range x.Options {
		if !o.Selected && len(x.Options) > maxBoxes {
			all = append(all, o)
		}
	}
	return all
}

// option is a choice of a select.
type option struct {
	Value, Label string
	Selected     bool
	Focus        bool // of a box: it has the focus
}

// draw returns a field with its input and its errors. The first one with an error has the focus.
func (f *form) draw(x field) field {
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
	x.Errors = f.errorsOf(x.Name, x.Label)
	if x.Name == "name" {
		x.Existing = f.existing
	}
	x.Focus = x.Focus || len(x.Errors) > 0 && !f.focused
	f.focused = f.focused || x.Focus
	if f.saved != nil && unixLines(f.saved.Get(x.Name)) != unixLines(x.Value) {
		x.Saved = "“" + f.saved.Get(x.Name) + "”"
		if f.saved.Get(x.Name) == "" {
			x.Saved = "an empty field"
		}
		for _, o := range x.Options {
			if o.Value == f.saved.Get(x.Name) {
				x.Saved = "“" + o.Label + "”"
			}
		}
	}
	if x.Type == "textarea" && strings.HasPrefix(x.Value, "\n") {
		x.Value = "\n" + x.Value // browsers ignore the first line break
	}
	return x
}

// drawBoxes returns a field of which any number of options is chosen, with its errors, or with one of other
// fields of the API. The template "boxes" draws it.
func (f *form) drawBoxes(x field, others ...string) field {
	f.labels[x.Name] = x.Label
	x.ID = x.Name
	x.Options = slices.Clone(x.Options)
	for i := range x.Options {
		x.Options[i].Selected = slices.Contains(f.values[x.Name], x.Options[i].Value)
	}
	for _, name := range append(others, x.Name) {
		x.Errors = append(x.Errors, f.errorsOf(name, x.Label)...)
	}
	f.complain(&x, nil)
	if f.saved != nil {
		x.Saved = x.savedBoxes(f.saved[x.Name])
	}
	return x
}

// drawAll draws fields in their order.
func (f *form) drawAll(all ...field) (drawn []field) {
	for _, x := range all {
		drawn = append(drawn, f.draw(x))
	}
	return drawn
}

// complain adds errors to a drawn field. If it is the first one with an error, it has the focus, or the first of its
// boxes that is shown.
func (f *form) complain(x *field, errs []string) {
	x.Errors = append(x.Errors, errs...)
	switch {
	case len(x.Errors) == 0 || f.focused:
	case x.Type != "":
		x.Focus, f.focused = true, true
	case len(x.Options) > 0:
		at := max(0, slices.IndexFunc(x.Options, func(o option) bool { return o.Selected }))
		x.Options[at].Focus, f.focused = true, true
	}
}

// savedBoxes returns the labels of the saved options, unless they are those that are chosen.
func (x field) savedBoxes(saved []string) string {
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

// focusFirst puts the cursor into the first field that is wrong, or else into the first one.
func focusFirst(lines ...[]field) {
	first := &lines[0][0]
	for _, line := range lines {
		if at := slices.IndexFunc(line, func(x field) bool { return len(x.Errors) > 0 }); at >= 0 {
			first = &line[at]
			break
		}
	}
	first.Focus = true
}

// fieldGroup is a group of the fields of a form. All but the first group can be folded.
type fieldGroup struct {
	Key, Title string // "": it cannot be folded
	Open       bool   // something in it is wrong, or differs from the default
	Fields     []field
}

// drawGroups draws the fields of groups, and opens those with a field that is wrong, or does not show its default.
func (f *form) drawGroups(groups []fieldGroup, isDefault func(field) bool) []fieldGroup {
	for g := range groups {
		for i, x := range groups[g].Fields {
			groups[g].Fields[i] = f.draw(x)
		}
		groups[g].Open = slices.ContainsFunc(groups[g].Fields, func(x field) bool {
			// so that a secret can be replaced
			return len(x.Errors) > 0 || x.Value != "" && !isDefault(x) || isRemoval(x)
		})
	}
	return groups
}
