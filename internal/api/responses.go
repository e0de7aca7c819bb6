package api

import (
	"math"
	"net/http"

	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// The limits of ?per_page.
const (
	defaultPerPage = 50
	maxPerPage     = 100
)

// one answers with a single resource.
func one(status int, resource any) (store.StoredResponse, error) {
	body, err := web.Marshal(struct {
		Data any `json:"data"`
	}{resource})
	return store.StoredResponse{Status: status, Body: body}, err
}

// metaJSON says which part of a list this is.
type metaJSON struct {
	Page    int `json:"page"`
	PerPage int `json:"per_page"`
	Total   int `json:"total"`
}

// many answers with one page of a list. A page behind the last is empty.
func many[T, J any](items []T, total int, r store.Pagination, present func(T) J) (store.StoredResponse, error) {
	data := make([]J, len(items))
	for i, item := range items {
		data[i] = present(item)
	}
	body, err := web.Marshal(struct {
		Data []J      `json:"data"`
		Meta metaJSON `json:"meta"`
	}{data, metaJSON{r.Page, r.PerPage, total}})
	return store.StoredResponse{Status: http.StatusOK, Body: body}, err
}

// list reads ?page and ?per_page and answers with what load finds there.
func list[T, J any](c *call, present func(T) J, load func(store.Pagination) ([]T, int, error)) (store.StoredResponse, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	r := readRange(q)
	if err := q.Check(); err != nil {
		return store.StoredResponse{}, err
	}
	items, total, err := load(r)
	if err != nil {
		return store.StoredResponse{}, err
	}
	return many(items, total, r, present)
}

func readRange(q *web.Query) store.Pagination {
	return store.Pagination{
		Page:    q.Integer("page", 1, 1, math.MaxInt32),
		PerPage: q.Integer("per_page", defaultPerPage, 1, maxPerPage),
	}
}

// show answers with what a verb returned.
func show[T, J any](v T, err error, present func(T) J) (store.StoredResponse, error) {
	if err != nil {
		return store.StoredResponse{}, err
	}
	return one(http.StatusOK, present(v))
}

// gone answers a DELETE.
func gone(err error) (store.StoredResponse, error) {
	return store.StoredResponse{Status: http.StatusNoContent}, err
}

// orZero returns what p points to, or the zero value.
func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
