package binary

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// Client talks to a server's API with a token.
type Client struct {
	URL   string // of the server, without a slash at the end
	Token string
	HTTP  *http.Client
}

// NewClient returns a client with a timeout for every request, which is longer than the ten seconds after which the
// server answers 503 if its database does not answer.
func NewClient(url, token string) *Client {
	return &Client{URL: url, Token: token, HTTP: &http.Client{
		Timeout:   15 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// Do sends one request with body as JSON (nil: none) and the headers given as name, value, name, value. A response with
// a 2xx status is decoded into into (nil: dropped). After an error, the connection has failed and it is unknown what
// the server did.
func (c *Client) Do(
	ctx context.Context, method, path string, body, into any, headers ...string,
) (status int, err error) {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, payload)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return 0, err
	}
	if res.StatusCode/100 == 2 && into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			return 0, fmt.Errorf("%s %s answered %d with %.200q: %w", method, path, res.StatusCode, answer, err)
		}
	}
	return res.StatusCode, nil
}

// Must is Do for a request that has to succeed.
func (c *Client) Must(t testing.TB, method, path string, body, into any, headers ...string) {
	t.Helper()
	status, err := c.Do(context.Background(), method, path, body, into, headers...)
	if err != nil || status/100 != 2 {
		t.Fatalf("%s %s: status %d, %v", method, path, status, err)
	}
}

// Data is the envelope of the API's responses.
type Data[T any] struct {
	Data T `json:"data"`
}

// List is the envelope of the API's lists.
type List[T any] struct {
	Data []T `json:"data"`
	Meta struct {
		Page, Total int
		PerPage     int `json:"per_page"`
	} `json:"meta"`
}

// All returns every item of a list, over all its pages. path has no query. Like other clients, it repeats a GET that
// failed: after a failover, the server may still hold dead connections to the database.
func All[T any](t testing.TB, c *Client, path string) []T {
	t.Helper()
	var all []T
	for page := 1; ; page++ {
		l := list[T](t, c, fmt.Sprintf("%s?per_page=100&page=%d", path, page))
		all = append(all, l.Data...)
		if len(all) >= l.Meta.Total || len(l.Data) == 0 {
			return all
		}
	}
}

// list returns one page of a list, in at most three attempts.
func list[T any](t testing.TB, c *Client, path string) (l List[T]) {
	t.Helper()
	var status int
	var err error
	for range 3 {
		status, err = c.Do(context.Background(), "GET", path, nil, &l)
		if err == nil && status == http.StatusOK {
			return l
		}
		if err == nil && status != http.StatusServiceUnavailable {
			break
		}
		t.Logf("GET %s: status %d, %v", path, status, err)
	}
	t.Fatalf("GET %s: status %d, %v", path, status, err)
	return l
}
