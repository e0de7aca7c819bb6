package account

import (
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaxPageLimit is the maximum number of pages to which a token or a member can be limited.
const MaxPageLimit = 100

// PageLimit limits a token or a member to some pages: it sees and changes only these, and what is on them. The zero
// value does not limit.
type PageLimit struct {
	Limited bool
	Pages   []string // slugs, sorted; none if all of the pages were deleted
}

// LimitTo returns the limit to pages, given their slugs; nil: none.
func LimitTo(pages []string) PageLimit { return PageLimit{Limited: pages != nil, Pages: pages} }

// field returns the limit as the audit log records it: the slugs, or nil.
func (l PageLimit) field() any {
	if !l.Limited {
		return nil
	}
	return strings.Join(l.Pages, ", ")
}

// check adds an error for the field "pages" if there is a limit and it is not allowed, or has no pages or more than
// MaxPageLimit. who names, in the message, the tokens or members that cannot be limited, such as "Admins and owners".
func (l PageLimit) check(bad *kernel.ValidationError, allowed bool, who string) {
	switch {
	case !l.Limited:
	case !allowed:
		bad.Add("pages", "%s cannot be limited to pages.", who)
	case len(l.Pages) == 0 || len(l.Pages) > MaxPageLimit:
		bad.Add("pages", "field must have 1 to %d slugs of pages", MaxPageLimit)
	}
}
