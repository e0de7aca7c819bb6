package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// maxPerPage is the maximum number of resources in one answer of the API.
const maxPerPage = 100

// List is a list of resources on the server. Each call of a method requests the list again.
type List[T any] struct {
	client *Client
	path   string
	query  url.Values
}

// Filter selects resources from a list of pages, groups, components or monitors. Empty fields select all.
type Filter struct {
	Slug string // the slug of the only resource to return
	Name string // the exact name of the resources to return
}

// Filter returns the part of the list that matches f. Lists of other resources ignore the filter.
func (l *List[T]) Filter(f Filter) *List[T] {
	filtered := *l
	filtered.query = maps.Clone(l.query)
	if filtered.query == nil {
		filtered.query = url.Values{}
	}
	if f.Slug != "" {
		filtered.query.Set("slug", f.Slug)
	}
	if f.Name != "" {
		filtered.query.Set("name", f.Name)
	}
	return &filtered
}

// All returns an iterator over the list. It requests 100 resources at a time, when they are needed. The iteration ends
// after an error.
//
// Resources that are created or deleted during the iteration may be missed, or seen twice.
func (l *List[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for page := 1; ; page++ {
			some, _, err := l.read(ctx, page, maxPerPage)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, v := range some {
				if !yield(v, nil) {
					return
				}
			}
			if len(some) < maxPerPage {
				return
			}
		}
	}
}

// First returns the first n resources of the list, and the length of the whole list.
func (l *List[T]) First(ctx context.Context, n int) (first []*T, total int, err error) {
	perPage := max(1, min(n, maxPerPage))
	for page := 1; page == 1 || len(first) < n; page++ {
		some, all, err := l.read(ctx, page, perPage)
		if err != nil {
			return nil, 0, err
		}
		first, total = append(first, some...), all
		if len(some) < perPage {
			break
		}
	}
	return first[:min(len(first), max(0, n))], total, nil
}

// Count returns how many resources the list has.
func (l *List[T]) Count(ctx context.Context) (int, error) {
	_, total, err := l.read(ctx, 1, 1)
	return total, err
}

// read reads one page of the list.
func (l *List[T]) read(ctx context.Context, page, perPage int) (some []*T, total int, err error) {
	query := maps.Clone(l.query)
	if query == nil {
		query = make(url.Values)
	}
	query.Set("page", strconv.Itoa(page))
	query.Set("per_page", strconv.Itoa(perPage))
	answer, err := l.client.do(ctx, request{method: http.MethodGet, path: l.path, query: query})
	if err != nil {
		return nil, 0, err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(answer.Data, &raw); err != nil {
		return nil, 0, fmt.Errorf("%s %w: a list was expected", l.client.base, ErrNotAllswell)
	}
	some, err = decodeAll[T](l.client, raw)
	return some, answer.Meta.Total, err
}

func decodeAll[T any](c *Client, raw []json.RawMessage) ([]*T, error) {
	all := make([]*T, len(raw))
	for i := range raw {
		var err error
		if all[i], err = decode[T](c, raw[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// listByCursor returns an iterator over a list that the server returns in parts, each with a cursor for the next one.
func listByCursor[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		query := maps.Clone(query)
		for {
			answer, err := c.do(ctx, request{method: http.MethodGet, path: path, query: query})
			if err != nil {
				yield(nil, err)
				return
			}
			var raw []json.RawMessage
			if json.Unmarshal(answer.Data, &raw) != nil {
				yield(nil, fmt.Errorf("%s %w: a list was expected", c.base, ErrNotAllswell))
				return
			}
			all, err := decodeAll[T](c, raw)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, v := range all {
				if !yield(v, nil) {
					return
				}
			}
			if answer.Meta.NextCursor == "" {
				return
			}
			query.Set("cursor", answer.Meta.NextCursor)
		}
	}
}
