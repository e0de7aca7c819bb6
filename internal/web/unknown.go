package web

import (
	"slices"

	"github.com/allswell/allswell/internal/spelling"
)

// Limits of what is said about unknown fields.
const (
	maxUnknown    = 20 // fields
	maxNameLength = 64 // characters of the name of one
)

// AllowUnknown makes Check accept unknown fields.
func (o *Object) AllowUnknown() { o.lenient = true }

// AllowReadOnly makes Check accept fields of a resource that cannot be set, so that what GET shows can be edited and sent
// back.
func (o *Object) AllowReadOnly(fields ...string) {
	if o.readOnly == nil {
		o.readOnly = make(map[string]bool)
	}
	for _, field := range fields {
		o.readOnly[field] = true
	}
}

// Unknown returns the names of the fields that no accessor has asked for, with dotted paths for nested ones, sorted; at
// most maxUnknown of them, and long names cut.
func (o *Object) Unknown() []string {
	var all []string
	o.eachUnknown(func(of *Object, name string) { all = append(all, of.prefix+shortName(name)) })
	slices.Sort(all)
	return all[:min(len(all), maxUnknown)]
}

// eachUnknown calls f for each unknown field of o and of the objects in it, of each object the first maxUnknown ones.
func (o *Object) eachUnknown(f func(of *Object, name string)) {
	var names []string
	for name := range o.fields {
		if !o.known[name] && !o.readOnly[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxUnknown)] {
		f(o, name)
	}
	for _, child := range o.children {
		child.eachUnknown(f)
	}
}

// rejectUnknown records an error for the first unknown fields.
func (o *Object) rejectUnknown() {
	n := 0
	o.eachUnknown(func(of *Object, name string) {
		short := shortName(name)
		if n++; n > maxUnknown || len(of.bad.Fields[of.prefix+short]) > 0 {
			return
		}
		if meant := of.closest(name); meant != "" {
			of.addError(short, "Unknown field, did you mean %s?", meant)
		} else {
			of.addError(short, "Unknown field.")
		}
	})
}

// shortName returns the name of an unknown field, cut if it is long.
func shortName(name string) string {
	if len(name) <= maxNameLength {
		return name
	}
	runes := []rune(name[:min(len(name), maxNameLength*4)])
	return string(runes[:min(len(runes), maxNameLength)]) + "…"
}

// closest returns the known field that an unknown one may be a misspelling or the beginning of, or "".
func (o *Object) closest(name string) string {
	if len(name) > maxNameLength {
		return ""
	}
	var absent []string
	for known := range o.known {
		if _, given := o.fields[known]; !given {
			absent = append(absent, known)
		}
	}
	return spelling.Closest(name, absent)
}
