package frame

import (
	"net/url"
	"slices"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/store"
)

// LimitForm is the part of a form that limits a member or a token to pages.
type LimitForm struct {
	Limited bool
	Pages   []Option // the pages of the workspace
}

// MaxLimitPages is the maximum number of pages that the form offers. The API accepts others.
const MaxLimitPages = 100

// LimitForm returns the part of a form with its input.
func (r *Request) LimitForm(typed url.Values) (LimitForm, error) {
	pages, _, err := r.Store.Pages(r.Context(), r.Actor(), store.Filter{}, store.Pagination{
		Page: 1, PerPage: MaxLimitPages,
	})
	if err != nil {
		return LimitForm{}, err
	}
	l := LimitForm{Pages: make([]Option, len(pages))}
	for i, p := range pages {
		l.Pages[i] = Option{Value: p.Slug, Label: p.Name}
	}
	return l.WithLimit(account.PageLimit{Limited: typed.Get("reach") == "some", Pages: typed["pages"]}), nil
}

// WithLimit returns the part with a limit.
func (l LimitForm) WithLimit(limit account.PageLimit) LimitForm {
	l.Limited, l.Pages = limit.Limited, slices.Clone(l.Pages)
	for i := range l.Pages {
		l.Pages[i].Selected = slices.Contains(limit.Pages, l.Pages[i].Value)
	}
	return l
}

// ReadLimit returns the limit that was typed; nil: the form has none.
func ReadLimit(typed url.Values) *account.PageLimit {
	switch typed.Get("reach") {
	case "":
		return nil
	case "some":
		return &account.PageLimit{Limited: true, Pages: typed["pages"]}
	default:
		return &account.PageLimit{}
	}
}
