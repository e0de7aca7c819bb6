package dashboard

import (
	"net/url"
	"slices"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/store"
)

// limitForm is the part of a form that limits a member or a token to pages.
type limitForm struct {
	Limited bool
	Pages   []option // those of the workspace
}

// maxLimitPages is the number of pages that the form offers. Others can be named in the API.
const maxLimitPages = 100

// limitForm returns the part with its input.
func (v *visit) limitForm(typed url.Values) (limitForm, error) {
	pages, _, err := v.store.Pages(v.r.Context(), v.actor(), store.Filter{}, store.Pagination{
		Page: 1, PerPage: maxLimitPages,
	})
	if err != nil {
		return limitForm{}, err
	}
	l := limitForm{Pages: make([]option, len(pages))}
	for i, p := range pages {
		l.Pages[i] = option{Value: p.Slug, Label: p.Name}
	}
	return l.withLimit(account.PageLimit{Limited: typed.Get("reach") == "some", Pages: typed["pages"]}), nil
}

// withLimit returns the part with a limit.
func (l limitForm) withLimit(limit account.PageLimit) limitForm {
	l.Limited, l.Pages = limit.Limited, slices.Clone(l.Pages)
	for i := range l.Pages {
		l.Pages[i].Selected = slices.Contains(limit.Pages, l.Pages[i].Value)
	}
	return l
}

// readLimit returns the limit that was typed; nil: the form has none.
func readLimit(typed url.Values) *account.PageLimit {
	switch typed.Get("reach") {
	case "":
		return nil
	case "some":
		return &account.PageLimit{Limited: true, Pages: typed["pages"]}
	default:
		return &account.PageLimit{}
	}
}
