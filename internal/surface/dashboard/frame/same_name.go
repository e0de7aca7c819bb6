package frame

import (
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// sameNameField is the box that allows a second object with the same name.
const sameNameField = "same_name"

// AllowsSameName reports whether the box is ticked.
func (f *Form) AllowsSameName() bool { return f.Value(sameNameField) == "true" }

// OfferSameName replaces the error about a name in use by a link to the object with that name, and by the box that
// allows a second object. path returns the path of the object with an id.
func (f *Form) OfferSameName(noun string, path func(id string) string) {
	if f.Invalid == nil || f.Invalid.SameName == "" {
		return
	}
	f.existing = path(f.Invalid.SameName)
	f.Invalid.Problems = slices.DeleteFunc(slices.Clone(f.Invalid.Problems), func(p kernel.Problem) bool {
		return p.Field == "name"
	})
	f.Refuse("name", "There is a %s with this name already.", noun)
}
