package frame

import (
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
)

// MaxChoices is the maximum number of pages to choose from.
const MaxChoices = 200

// Pages returns the pages of the workspace to choose from.
func (r *Request) Pages() ([]statuspage.Page, error) {
	pages, _, err := r.Store.Pages(r.Context(), r.Actor(), store.Filter{},
		store.Pagination{Page: 1, PerPage: MaxChoices})
	return pages, err
}

// ListAll requests all components or groups of a page, whose number is limited.
var ListAll = store.Pagination{Page: 1, PerPage: kernel.MaxComponents}

// ImpactOptions returns the impacts of incidents to choose from.
func ImpactOptions() (options []Option) {
	for _, i := range kernel.Impacts {
		options = append(options, Option{Value: string(i), Label: i18n.English().Impact(i)})
	}
	return options
}
