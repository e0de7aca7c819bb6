package frame

import (
	"maps"
	"net/url"
	"strconv"

	"github.com/allswell/allswell/internal/store"
)

// PerPage is the number of rows that a screen shows of a list.
const PerPage = 50

// maxListPage is the last page of a list that can be requested.
const maxListPage = 1_000_000

// Pager leads through the pages of a list. The template "pager" draws it.
type Pager struct {
	First, Last, Total int    // the rows that are shown, counted from 1
	Previous, Next     string // addresses; "": none
}

// Pagination returns the page of the list that the query names with "p".
func Pagination(query url.Values) store.Pagination {
	n, err := strconv.Atoi(query.Get("p"))
	if err != nil {
		n = 1
	}
	return store.Pagination{Page: min(max(1, n), maxListPage), PerPage: PerPage}
}

// NewPager returns the pager of a list at a path, of which count rows are shown.
func NewPager(path string, query url.Values, r store.Pagination, count, total int) Pager {
	at := func(n int) string {
		next := make(url.Values, len(query)+1)
		for name, values := range query {
			next[name] = values
		}
		next.Set("p", strconv.Itoa(n))
		return path + "?" + next.Encode()
	}
	first := (r.Page - 1) * r.PerPage
	p := Pager{First: first + 1, Last: first + count, Total: total}
	if r.Page > 1 {
		p.Previous = at(min(r.Page-1, max(1, (total+r.PerPage-1)/r.PerPage)))
	}
	if p.Last < total && count > 0 {
		p.Next = at(r.Page + 1)
	}
	return p
}

// WithParam returns a copy of a query with another value of one name, or without it for "".
func WithParam(query url.Values, name, value string) url.Values {
	other := maps.Clone(query)
	if other.Set(name, value); value == "" {
		other.Del(name)
	}
	return other
}
