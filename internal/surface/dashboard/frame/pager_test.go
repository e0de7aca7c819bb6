package frame

import (
	"net/url"
	"testing"
)

func TestPathWith(t *testing.T) {
	query := url.Values{"a": {"1"}}
	for _, c := range []struct{ name, value, want string }{
		{"b", "2", "/x?a=1&b=2"}, {"a", "3", "/x?a=3"}, {"a", "", "/x"}, {"b", "", "/x?a=1"},
	} {
		if got := PathWith("/x", query, c.name, c.value); got != c.want {
			t.Errorf("%s=%s: %s, want %s", c.name, c.value, got, c.want)
		}
	}
	if got := query.Encode(); got != "a=1" {
		t.Errorf("the query afterwards: %s", got)
	}
}

func TestPager(t *testing.T) {
	for _, c := range []struct {
		p              string
		count, total   int
		first, last    int
		previous, next string
	}{
		{"", 0, 0, 1, 0, "", ""},
		{"1", 50, 51, 1, 50, "", "/x?a=b&p=2"},
		{"2", 1, 51, 51, 51, "/x?a=b&p=1", ""},
		{"9", 0, 51, 401, 400, "/x?a=b&p=2", ""},
		{"-3", 50, 50, 1, 50, "", ""},
	} {
		r := Pagination(url.Values{"p": {c.p}})
		got := NewPager("/x", url.Values{"a": {"b"}}, r, c.count, c.total)
		if want := (Pager{c.first, c.last, c.total, c.previous, c.next}); got != want {
			t.Errorf("page %q: %+v, want %+v", c.p, got, want)
		}
	}
}
