package jsonobject

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/shared/spelling"
)

// Limits of errors about unknown fields.
const (
	maxUnknown    = 20 // fields
	maxNameLength = 64 // characters of the name of one
)

// AllowUnknown makes Check accept unknown fields.
func (o *Object) AllowUnknown() { o.lenient = true }

// AllowReadOnly makes Check accept fields of a resource that cannot be set, so that clients can edit the response to a
// GET and send it back.
func (o *Object) AllowReadOnly(fields ...string) {
	if o.readOnly == nil {
		o.readOnly = make(map[string]bool)
	}
	for _, field := range fields {
		o.readOnly[field] = true
	}
}

// Unknown returns the paths of the fields that no accessor has asked for, sorted, and how many more there are than the
// maxUnknown that it returns. The names in a path are separated by dots. A dot in the name of a field, and all
// characters that a URL does not have in a path, are percent-encoded. A long name is cut.
func (o *Object) Unknown() (paths []string, more int) {
	o.eachUnknown(func(of *Object, name string) { paths = append(paths, of.prefix+escapeName(shortName(name))) })
	slices.Sort(paths)
	some := min(len(paths), maxUnknown)
	return paths[:some], len(paths) - some
}

func escapeName(name string) string { return strings.ReplaceAll(url.PathEscape(name), ".", "%2E") }

// eachUnknown calls f for each unknown field of o and of the objects in it.
func (o *Object) eachUnknown(f func(of *Object, name string)) {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		if !o.known[name] && !o.readOnly[name] {
			f(o, name)
		}
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
		if n++; n > maxUnknown || of.bad.Has(of.prefix+short) {
			return
		}
		if meant := of.closest(name); meant != "" {
			of.Add(short, "Unknown field, did you mean %s?", meant)
		} else {
			of.Add(short, "Unknown field.")
		}
	})
}

// shortName returns the name of an unknown field, cut if it is long.
func shortName(name string) string {
	if len(name) <= maxNameLength {
		return name
	}
	runes := []rune(name[:min(len(name), (maxNameLength+1)*utf8.UTFMax)])
	if len(runes) <= maxNameLength {
		return name
	}
	return string(runes[:maxNameLength]) + "…"
}

// closest returns the known field that an unknown name may be a misspelling of, or an abbreviation, or "".
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
