package frame

import (
	"net/url"
	"testing"
)

func TestWith(t *testing.T) {
	query := url.Values{"a": {"1"}}
	got := WithParam(query, "b", "2").Encode() + " " + WithParam(query, "a", "").Encode() + " " + query.Encode()
	if got != "a=1&b=2  a=1" {
		t.Error(got)
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
