package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/client"
)

// roundTripper answers requests without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is a response of a server.
type answer struct {
	status int
	header string // "Name: value"
	body   string
}

func (a answer) response() *http.Response {
	r := &http.Response{
		StatusCode: a.status, Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		Header: make(http.Header), Body: io.NopCloser(strings.NewReader(a.body)),
	}
	if name, value, ok := strings.Cut(a.header, ": "); ok {
		r.Header.Set(name, value)
	}
	return r
}

func newClient(t *testing.T, options client.Options) *client.Client {
	t.Helper()
	c, err := client.New("https://allswell.example/", "secret", options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNew(t *testing.T) {
	for base, ok := range map[string]bool{
		"https://a.example": true, "http://a.example:8080/": true, "": false, "a.example": false,
		"ftp://a.example":       false,
		"https://a.example/api": false, "https://user@a.example": false, "https://a.example?x": false,
		"https://a.example#x": false,
	} {
		c, err := client.New(base, "secret", client.Options{})
		if (err == nil) != ok {
			t.Errorf("New(%s) = error %v", base, err)
		}
		if err == nil && c.BaseURL() != strings.TrimSuffix(base, "/") {
			t.Errorf("%s: the base URL is %s", base, c.BaseURL())
		}
	}
	_, err := client.New("https://a.example", "two words", client.Options{})
	if err == nil || strings.Contains(err.Error(), "words") {
		t.Errorf("a token with a space: %v", err)
	}
}

// errorAnswers are answers of the server, and the errors that calls return for them.
var errorAnswers = []struct {
	answer answer
	is     error
	text   string
	code   string
}{
	{answer{422, "", `{"message": "Two.", "errors": {"slug": ["One.", "Two."], "name": ["Three."]}}`},
		client.ErrInvalid,
		"GET /api/v1/pages/acme: 422: Two. (name: Three.; slug: One. Two.)", client.CodeInvalid},
	{answer{401, "", `{"message": "Unauthenticated."}`}, client.ErrUnauthenticated,
		"GET /api/v1/pages/acme: 401: Unauthenticated.", client.CodeUnauthenticated},
	{answer{403, "", `{"message": "No."}`}, client.ErrForbidden, "GET /api/v1/pages/acme: 403: No.",
		client.CodeForbidden},
	{answer{404, "", `{"message": "Not found."}`}, client.ErrNotFound, "GET /api/v1/pages/acme: 404: Not found.",
		client.CodeNotFound},
	{answer{429, "Retry-After: 60", `{"message": "Too many requests."}`}, client.ErrRateLimited,
		"GET /api/v1/pages/acme: 429: Too many requests.", client.CodeRateLimited},
	{answer{500, "X-Request-Id: r7", `{"message": "Wrong.", "id": "err_7"}`}, nil,
		"GET /api/v1/pages/acme: 500: Wrong. (err_7)", client.CodeInternal},
	{answer{503, "", `{"message": "Later.", "code": "busy"}`}, client.ErrBusy,
		"GET /api/v1/pages/acme: 503: Later.", client.CodeBusy},
	{answer{503, "", `{"message": "Later."}`}, client.ErrUnknownOutcome, "GET /api/v1/pages/acme: 503: Later.",
		client.CodeUnknownOutcome},
}

func TestErrors(t *testing.T) {
	for _, c := range errorAnswers {
		_, err := newClient(t, client.Options{
			Retries: -1, Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				return c.answer.response(), nil
			}),
		}).GetPage(t.Context(), "acme")
		refused := (*client.Error)(nil)
		if !errors.As(err, &refused) {
			t.Errorf("answer %d: the error is %v, not an *Error", c.answer.status, err)
			continue
		}
		if refused.Error() != c.text || refused.Code != c.code || refused.Status != c.answer.status ||
			refused.Method != "GET" || refused.Path != "/api/v1/pages/acme" {
			t.Errorf("answer %d: the error is %+v, text %q; want %q", c.answer.status, refused, refused.Error(), c.text)
		}
		for _, kind := range []error{
			client.ErrInvalid, client.ErrUnauthenticated, client.ErrForbidden, client.ErrNotFound,
			client.ErrRateLimited, client.ErrBusy, client.ErrUnknownOutcome,
		} {
			if errors.Is(err, kind) != (kind == c.is) {
				t.Errorf("answer %d: errors.Is(err, %v) = %v", c.answer.status, kind, errors.Is(err, kind))
			}
		}
		switch c.answer.status {
		case 422:
			if len(refused.Errors["slug"]) != 2 {
				t.Errorf("the errors are %v", refused.Errors)
			}
		case 429:
			if refused.RetryAfter != time.Minute {
				t.Errorf("RetryAfter is %s", refused.RetryAfter)
			}
		case 500:
			if refused.LogID != "err_7" || refused.RequestID != "r7" {
				t.Errorf("the ids are %s and %s", refused.LogID, refused.RequestID)
			}
		}
	}
}

func TestNotAllswell(t *testing.T) {
	for name, c := range map[string]struct {
		answer answer
		want   string
	}{
		"a web site": {answer{200, "", "<html>"}, "https://allswell.example is not an Allswell server (200 OK)"},
		"another API": {answer{200, "", `{"result": 1}`},
			"https://allswell.example is not an Allswell server (200 OK)"},
		"a broken proxy": {answer{502, "", "Bad Gateway"},
			"https://allswell.example is not an Allswell server (502 Bad Gateway)"},
		"a redirect": {answer{301, "Location: https://other.example/", ""},
			"https://allswell.example redirects to https://other.example/: use that address"},
		"a huge answer": {answer{200, "", `{"data": "` + strings.Repeat("x", 16<<20) + `"}`},
			"https://allswell.example answered with more than 16777216 bytes"},
	} {
		_, err := newClient(t, client.Options{
			Retries: -1, Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				return c.answer.response(), nil
			}),
		}).GetPage(t.Context(), "acme")
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: the error is %v, want %s", name, err, c.want)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed with the headers %v", r.Header)
	}))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	c, err := client.New(server.URL, "secret", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreatePage(t.Context(), client.NewPage{}); err == nil {
		t.Error("no error")
	}
}

func get(ctx context.Context, c *client.Client) error { return second(c.GetPage(ctx, "acme")) }
func post(ctx context.Context, c *client.Client) error {
	return second(c.CreatePage(ctx, client.NewPage{}))
}

func patch(ctx context.Context, c *client.Client) error {
	return second(c.ChangePage(ctx, "acme", client.PageChange{}))
}

func put(options ...client.CallOption) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		return second(c.PutPage(ctx, "acme", client.NewPage{}, options...))
	}
}

func remove(ctx context.Context, c *client.Client) error { return c.DeletePage(ctx, "acme") }
func ping(ctx context.Context, c *client.Client) error   { return c.Ping(ctx, "token") }

// always returns an answer to every request.
func always(a answer) roundTripper {
	return func(*http.Request) (*http.Response, error) { return a.response(), nil }
}

// What becomes of a request.
var (
	refused roundTripper = func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	unknownHost roundTripper = func(*http.Request) (*http.Response, error) {
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}
	badCertificate roundTripper = func(*http.Request) (*http.Response, error) {
		return nil, errors.New("tls: bad certificate")
	}
	busy        = always(answer{503, "Retry-After: 5", `{"message": "x", "code": "busy"}`})
	unknown     = always(answer{503, "Retry-After: 5", `{"message": "x", "code": "unknown_outcome"}`})
	limited     = always(answer{429, "Retry-After: 2", `{"message": "x"}`})
	limitedLong = always(answer{429, "Retry-After: 30", `{"message": "x"}`})
	gateway     = always(answer{502, "", "Bad Gateway"})
)

// retries says how often calls are sent.
var retries = []struct {
	name   string
	call   func(context.Context, *client.Client) error
	answer roundTripper
	want   int32
}{
	{"refused, GET", get, refused, 4},
	{"refused, POST", post, refused, 4},
	{"refused, PATCH", patch, refused, 4},
	{"unknown host", get, unknownHost, 1},
	{"bad certificate", get, badCertificate, 1},
	{"busy, GET", get, busy, 4},
	{"busy, POST", post, busy, 4},
	{"busy, PATCH", patch, busy, 4},
	{"busy, ping", ping, busy, 4},
	{"unknown outcome, GET", get, unknown, 4},
	{"unknown outcome, POST", post, unknown, 4},
	{"unknown outcome, DELETE", remove, unknown, 4},
	{"unknown outcome, PATCH", patch, unknown, 1},
	{"unknown outcome, PUT", put(), unknown, 4},
	{"unknown outcome, PUT with If-Match", put(client.IfMatch(`"x"`)), unknown, 1},
	{"unknown outcome, PUT with If-None-Match", put(client.IfNoneMatch()), unknown, 1},
	{"503 without a code, PATCH", patch, always(answer{503, "", `{"message": "x"}`}), 1},
	{"rate limit, PATCH", patch, limited, 4},
	{"long rate limit", get, limitedLong, 1},
	{"gateway, GET", get, gateway, 4},
	{"gateway, PATCH", patch, gateway, 1},
	{"gateway, PUT with If-None-Match", put(client.IfNoneMatch()), gateway, 1},
	{"409, POST", post, always(answer{409, "", `{"message": "x", "code": "in_progress"}`}), 4},
	{"422, POST", post, always(answer{422, "", `{"message": "x"}`}), 1},
	{"404", get, always(answer{404, "", `{"message": "x"}`}), 1},
	{"500", get, always(answer{500, "", `{"message": "x"}`}), 1},
	{"a web site", get, always(answer{200, "", "<html>"}), 1},
}

// TestRetries counts how often calls are sent.
func TestRetries(t *testing.T) {
	for _, c := range retries {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // waits take no time
				var sent atomic.Int32
				keys := make(map[string]bool)
				err := c.call(t.Context(),
					newClient(t, client.Options{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
						sent.Add(1)
						keys[r.Header.Get("Idempotency-Key")] = true
						return c.answer(r)
					})}))
				if err == nil || sent.Load() != c.want || len(keys) != 1 {
					t.Errorf("%d requests, want %d; keys %v; %v", sent.Load(), c.want, keys, err)
				}
			})
		})
	}
}

// TestLostConnection breaks connections after the request was sent.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]struct {
		requests int32
		executed bool
	}{"GET": {3, false}, "POST": {3, true}, "PATCH": {1, true}} {
		var requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			requests.Add(1)
			panic(http.ErrAbortHandler)
		}))
		c, err := client.New(server.URL, "secret", client.Options{
			Retries: 2, Transport: &http.Transport{DisableKeepAlives: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		switch method {
		case "GET":
			_, err = c.GetPage(t.Context(), "acme")
		case "POST":
			_, err = c.CreatePage(t.Context(), client.NewPage{})
		case "PATCH":
			_, err = c.ChangePage(t.Context(), "acme", client.PageChange{})
		}
		server.Close()
		failed := (*client.NetworkError)(nil)
		if !errors.As(err, &failed) || failed.MayBeExecuted != want.executed || requests.Load() != want.requests {
			t.Errorf("%s on a lost connection: %d requests, error %v", method, requests.Load(), err)
		}
	}
}

// TestDeleteAgain repeats a DELETE that was executed, but whose answer was lost.
func TestDeleteAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notFound := answer{404, "", `{"message": "Not found."}`}
		var answers []answer
		c := newClient(t, client.Options{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			next := answers[0].response()
			answers = answers[1:]
			return next, nil
		})})
		for _, lost := range []answer{
			{503, "Retry-After: 1", `{"message": "x", "code": "unknown_outcome"}`}, {502, "", "Bad Gateway"},
			{504, "", "Gateway Timeout"},
		} {
			answers = []answer{lost, notFound}
			if err := c.DeletePage(t.Context(), "acme"); err != nil {
				t.Errorf("DeletePage after a lost %d: %v", lost.status, err)
			}
		}
		for _, refused := range [][]answer{
			// it was not executed
			{notFound}, {{503, "", `{"message": "x", "code": "busy"}`}, notFound},
			{{429, "", `{"message": "x"}`}, notFound},
		} {
			answers = refused
			if err := c.DeletePage(t.Context(), "acme"); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("DeletePage after %d: %v, want ErrNotFound", refused[0].status, err)
			}
		}
	})
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		began := time.Now()
		_, err := newClient(t, client.Options{Transport: hang}).GetPage(t.Context(), "acme")
		took := time.Since(began)
		if took != client.DefaultTimeout || err.Error() != "https://allswell.example did not answer within 30s" {
			t.Errorf("a call that gets no answer failed after %s: %v", took, err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = newClient(t, client.Options{Transport: hang}).GetPage(ctx, "acme")
		if !errors.Is(err, context.Canceled) || err.Error() != "interrupted before https://allswell.example answered" {
			t.Error(err)
		}

		// Retries end with the deadline.
		began = time.Now()
		_, err = newClient(t, client.Options{
			Timeout: 12 * time.Second, Retries: 100,
			Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				return answer{503, "Retry-After: 5", `{"message": "x", "code": "busy"}`}.response(), nil
			}),
		}).GetPage(t.Context(), "acme")
		took = time.Since(began)
		if !errors.Is(err, client.ErrBusy) || took < 10*time.Second || took > 12*time.Second {
			t.Errorf("a call to a busy server failed after %s: %v", took, err)
		}
	})
}

// listServer returns a server that answers with a list of n groups.
func listServer(n int, asked *[]string) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		*asked = append(*asked, r.URL.RawQuery)
		page, _ := strconv.Atoi(r.FormValue("page"))
		perPage, _ := strconv.Atoi(r.FormValue("per_page"))
		some := []client.Group{}
		for i := (page - 1) * perPage; i < min(page*perPage, n); i++ {
			some = append(some, client.Group{Name: strconv.Itoa(i)})
		}
		raw, err := json.Marshal(map[string]any{"data": some, "meta": map[string]int{"total": n}})
		return answer{200, "", string(raw)}.response(), err
	}
}

func TestLists(t *testing.T) {
	var asked []string
	list := newClient(t, client.Options{Transport: listServer(250, &asked)}).ListGroups("acme")
	n := 0
	for group, err := range list.All(t.Context()) {
		if err != nil || group.Name != strconv.Itoa(n) {
			t.Fatalf("group %d is %v, %v", n, group, err)
		}
		n++
	}
	if n != 250 || len(asked) != 3 {
		t.Errorf("%d groups, asked for %q", n, asked)
	}
	for range list.All(t.Context()) {
		break // asks for one page
	}
	if len(asked) != 4 {
		t.Errorf("asked for %q", asked)
	}
	for most, want := range map[int]struct{ got, asked int }{
		0: {0, 1}, 2: {2, 1}, 100: {100, 1}, 150: {150, 2}, 1000: {250, 3},
	} {
		asked = nil
		first, total, err := list.First(t.Context(), most)
		if err != nil || total != 250 || len(first) != want.got || len(asked) != want.asked {
			t.Errorf("the first %d are %d of %d, %v, asked for %q", most, len(first), total, err, asked)
		}
	}
	if total, err := list.Count(t.Context()); err != nil || total != 250 {
		t.Errorf("there are %d, %v", total, err)
	}
}

func TestListErrors(t *testing.T) {
	c := newClient(t, client.Options{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return answer{404, "", `{"message": "Not found."}`}.response(), nil
	})})
	n := 0
	for group, err := range c.ListGroups("acme").All(t.Context()) {
		if n++; group != nil || !errors.Is(err, client.ErrNotFound) {
			t.Errorf("iterating over a list that is not found: %v, %v", group, err)
		}
	}
	if n != 1 {
		t.Errorf("iterating over a list that is not found: %d results, want 1", n)
	}
	c = newClient(t, client.Options{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return answer{200, "", `{"data": {}}`}.response(), nil
	})})
	if _, err := c.ListGroups("acme").Count(t.Context()); !errors.Is(err, client.ErrNotAllswell) {
		t.Error(err)
	}
}

func TestChanges(t *testing.T) {
	for want, change := range map[string]client.PageChange{
		`{}`: {},
		`{"name":"Acme","description":null,"footer_links":[]}`: {
			Name: new("Acme"), Description: client.Null[string](), FooterLinks: &[]client.FooterLink{},
		},
		`{"description":"","domain":"status.example.com"}`: {
			Description: client.Set(""), Domain: client.Set("status.example.com"),
		},
	} {
		if got := marshal(t, change); got != want {
			t.Errorf("the JSON of the change is %s, want %s", got, want)
		}
	}
}

func TestRawJSON(t *testing.T) {
	const raw = `{"id": "comp_1", "name": "API", "later": {"a": [1, 2]}}`
	c := newClient(t, client.Options{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return answer{200, "", `{"data": ` + raw + `}`}.response(), nil
	})})
	got, err := c.GetComponent(t.Context(), "acme", "comp_1")
	if err != nil || got.Name != "API" || string(got.RawJSON()) != raw {
		t.Errorf("RawJSON() = %s, error %v", got.RawJSON(), err)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	var keys []string
	c := newClient(t, client.Options{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		return answer{201, "", `{"data": {}}`}.response(), nil
	})})
	for _, options := range [][]client.CallOption{nil, nil, {client.IdempotencyKey("deploy-7")}} {
		if _, err := c.CreatePage(t.Context(), client.NewPage{}, options...); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys[0]) < 20 || keys[0] == keys[1] || keys[2] != "deploy-7" {
		t.Errorf("the keys are %q", keys)
	}
}

// TestIfMatch calls the methods that take the option, while the server's answers are lost.
func TestIfMatch(t *testing.T) {
	for name, do := range map[string]func(*client.Client, client.CallOption) error{
		"ChangePage": func(c *client.Client, o client.CallOption) error {
			return second(c.ChangePage(t.Context(), "acme", client.PageChange{}, o))
		},
		"DeletePage": func(c *client.Client, o client.CallOption) error { return c.DeletePage(t.Context(), "acme", o) },
		"ChangeComponentStatus": func(c *client.Client, o client.CallOption) error {
			return second(c.ChangeComponentStatus(t.Context(), "acme", "comp_1", client.ComponentStatusChange{}, o))
		},
		"EditComponent": func(c *client.Client, o client.CallOption) error {
			return second(c.EditComponent(t.Context(), "comp_1", client.ComponentChange{}, o))
		},
		"DeleteComponent": func(c *client.Client, o client.CallOption) error {
			return c.DeleteComponent(t.Context(), "acme", "comp_1", o)
		},
		"ChangeMonitor": func(c *client.Client, o client.CallOption) error {
			return second(c.ChangeMonitor(t.Context(), "mon_1", client.MonitorChange{}, o))
		},
		"DeleteMonitor": func(c *client.Client, o client.CallOption) error {
			return c.DeleteMonitor(t.Context(), "mon_1", o)
		},
	} {
		asked := 0
		c := newClient(t, client.Options{
			Retries: 3, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if asked++; r.Header.Get("If-Match") != `"1"` {
					t.Errorf("%s: If-Match: %q", name, r.Header.Get("If-Match"))
				}
				return answer{503, "", `{"message": "?", "code": "unknown_outcome"}`}.response(), nil
			}),
		})
		if err := do(c, client.IfMatch(`"1"`)); err == nil || asked != 1 {
			t.Errorf("%s with IfMatch: %d requests, error %v", name, asked, err)
		}
	}
}

// TestPatchWithKeyIsNotRepeated gives a PATCH a key, which makes only a POST safe to repeat.
func TestPatchWithKeyIsNotRepeated(t *testing.T) {
	asked := 0
	c := newClient(t, client.Options{Retries: 3, Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		asked++
		return answer{503, "", `{"message": "?", "code": "unknown_outcome"}`}.response(), nil
	})})
	_, err := c.ChangeComponentStatus(t.Context(), "acme", "comp_1", client.ComponentStatusChange{},
		client.IdempotencyKey("k"))
	if err == nil || asked != 1 {
		t.Errorf("ChangeComponentStatus with a key: %d requests, error %v", asked, err)
	}
}
