package dashboard

import (
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// sameNameField is the box that allows to create something with a name that is taken.
const sameNameField = "same_name"

// allowsSameName reports whether the box is ticked.
func (f *form) allowsSameName() bool { return f.Value(sameNameField) == "true" }

// offerSameName replaces the error about a name that is taken by one with a link to what has it and the box. path
// returns the address of what has an id.
func (f *form) offerSameName(noun string, path func(id string) string) {
	if f.bad == nil || f.bad.SameName == "" {
		return
	}
	f.existing = path(f.bad.SameName)
	f.bad.Problems = slices.DeleteFunc(slices.Clone(f.bad.Problems), func(p kernel.Problem) bool {
		return p.Field == "name"
	})
	f.refuse("name", "There is a %s with this name already.", noun)
}
