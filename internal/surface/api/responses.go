package api

import (
	"math"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

// Limits of the query parameter per_page.
const (
	defaultPerPage = 50
	maxPerPage     = 100
)

// newResponse returns a response with a single resource.
func newResponse(status int, resource any) (store.Response, error) {
	body, err := jsonobject.Marshal(struct {
		Data any `json:"data"`
	}{resource})
	return store.Response{Status: status, Body: body}, err
}

// metaJSON describes a page of a list.
type metaJSON struct {
	Page    int `json:"page"`
	PerPage int `json:"per_page"`
	Total   int `json:"total"`
}

// newListResponse returns a response with one page of a list. A page after the last one is empty.
func newListResponse[T, J any](items []T, total int, r store.Pagination, toJSON func(T) J) (store.Response, error) {
	data := make([]J, len(items))
	for i, item := range items {
		data[i] = toJSON(item)
	}
	body, err := jsonobject.Marshal(struct {
		Data []J      `json:"data"`
		Meta metaJSON `json:"meta"`
	}{data, metaJSON{r.Page, r.PerPage, total}})
	return store.Response{Status: http.StatusOK, Body: body}, err
}

// serveList is servePage for a list without filters.
func serveList[T, J any](
	c *call, toJSON func(T) J, load func(store.Pagination) ([]T, int, error),
) (store.Response, error) {
	return servePage(web.ParseQuery(c.URL.RawQuery), toJSON, load)
}

// serveNamedList is serveList for resources with slugs and names. It also reads ?slug and ?name.
func serveNamedList[T, J any](
	c *call, toJSON func(T) J, load func(store.Filter, store.Pagination) ([]T, int, error),
) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := readFilter(q)
	return servePage(q, toJSON, func(r store.Pagination) ([]T, int, error) { return load(f, r) })
}

func readFilter(q *web.Query) store.Filter {
	return store.Filter{Slug: q.Text("slug"), Name: q.Text("name")}
}

// readPageSlug reads ?page_slug, the page of a group or a component that the path names by its slug.
func readPageSlug(c *call) (string, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	return q.Text("page_slug"), q.Check()
}

// servePage reads ?page and ?per_page from q and returns a response with the items that load returns.
func servePage[T, J any](
	q *web.Query, toJSON func(T) J, load func(store.Pagination) ([]T, int, error),
) (store.Response, error) {
	r := readPagination(q)
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	items, total, err := load(r)
	if err != nil {
		return store.Response{}, err
	}
	return newListResponse(items, total, r, toJSON)
}

func readPagination(q *web.Query) store.Pagination {
	return store.Pagination{
		Page:    q.Integer("page", 1, 1, math.MaxInt32),
		PerPage: q.Integer("per_page", defaultPerPage, 1, maxPerPage),
	}
}

// resourceResponse returns a response with a resource, or the error of the store.
func resourceResponse[T, J any](v T, err error, toJSON func(T) J) (store.Response, error) {
	if err != nil {
		return store.Response{}, err
	}
	return newResponse(http.StatusOK, toJSON(v))
}

// noContent returns the response to a DELETE.
func noContent(err error) (store.Response, error) {
	return store.Response{Status: http.StatusNoContent}, err
}

// timePtr formats a time. It returns nil for the zero Time.
func timePtr(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := kernel.FormatTime(t)
	return &text
}
