package web

import (
	"maps"
	"slices"
	"strings"
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
	best, least := "", 0
	for _, known := range slices.Sorted(maps.Keys(o.known)) {
		if _, given := o.fields[known]; given {
			continue
		}
		a, b := plainName(name), plainName(known)
		distance := editDistance(a, b)
		if len(a) >= 3 && strings.HasPrefix(b, a) {
			distance = min(distance, 1)
		}
		if distance <= max(1, len(b)/3) && (best == "" || distance < least) {
			best, least = known, distance
		}
	}
	return best
}

// plainName makes componentId, component-id and component_id the same.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// editDistance returns how many bytes have to be inserted, deleted, replaced or swapped with the next one to make a
// into b.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
