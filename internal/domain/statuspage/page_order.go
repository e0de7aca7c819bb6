package statuspage

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Place is where a component or a group is put on its page: before an object, or else after one, or else at the end.
type Place struct {
	GroupID string // of a component: the group it is put into; "": no group
	Before  string // id
	After   string // id
	Order   string // the OrderTag of the page on which the place was chosen
}

// OrderTag identifies the order of a page's groups and components, which are given in their order. It changes if they
// are moved, added or deleted.
func OrderTag(groups []Group, components []Component) string {
	h := sha256.New()
	for _, g := range groups {
		h.Write([]byte(g.ID + "\n"))
	}
	for _, c := range components {
		h.Write([]byte(c.ID + " " + c.GroupID + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// IndexIn returns the index that the place has among objects, which are given by their ids in their order. It returns a
// *ValidationError if the neighbour is not one of them.
func (p Place) IndexIn(ids []string) (int, error) {
	switch {
	case p.Before != "":
		if at := slices.Index(ids, p.Before); at >= 0 {
			return at, nil
		}
		return 0, kernel.Invalid("before", "field must be an object in the same group or list")
	case p.After != "":
		if at := slices.Index(ids, p.After); at >= 0 {
			return at + 1, nil
		}
		return 0, kernel.Invalid("after", "field must be an object in the same group or list")
	default:
		return len(ids), nil
	}
}
