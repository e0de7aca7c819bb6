package frame

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/allswell/allswell/internal/resource/rights"
)

// TestQueriesBecomeText checks that the query of a request that is admitted has nothing that PostgreSQL does not store.
func TestQueriesBecomeText(t *testing.T) {
	request := httptest.NewRequest("GET", "/admin?search="+url.QueryEscape("a\x00\xff"), nil)
	f := New(nil, "", nil, nil)
	f.Join(Gate{AdmitByProxy: func(*Request, Route) error { return nil }})
	r := &Request{Frame: f, W: httptest.NewRecorder(), Request: request}
	if err := r.admit(Route{Needs: rights.Anyone}); err != nil || !hasOnlyText(r.URL.Query()) {
		t.Errorf("the query is %q, %v", r.URL.RawQuery, err)
	}
}
