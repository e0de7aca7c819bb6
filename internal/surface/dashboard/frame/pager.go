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

// Pager has links to the other pages of a list. The template "pager" draws it.
type Pager struct {
	First, Last, Total int    // the rows that are shown, counted from 1
	Previous, Next     string // URLs; "": none
}

// Pagination returns the page of a list that the parameter "p" names.
func Pagination(query url.Values) store.Pagination {
	n, err := strconv.Atoi(query.Get("p"))
	if err != nil {
		n = 1
	}
	return store.Pagination{Page: min(max(1, n), maxListPage), PerPage: PerPage}
}

// NewPager returns the pager of a list at a path. count is the number of rows that are shown.
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

// Filter returns the values of a form with the given names that are not empty. The links of a filtered list keep them.
func Filter(f *Form, names ...string) url.Values {
	filter := url.Values{}
	for _, name := range names {
		if value := f.Value(name); value != "" {
			filter.Set(name, value)
		}
	}
	return filter
}

// PathWith returns a path with a query in which one parameter has another value, or is absent if value is "".
func PathWith(path string, query url.Values, name, value string) string {
	other := maps.Clone(query)
	if other.Set(name, value); value == "" {
		other.Del(name)
	}
	if len(other) == 0 {
		return path
	}
	return path + "?" + other.Encode()
}
