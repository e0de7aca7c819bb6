package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	maxResponse = 16 << 20 // bytes

	// The wait before a retry doubles from firstWait to lastWait. It is randomized, so that many clients of one
	// server do not come back at the same moment.
	firstWait = 250 * time.Millisecond
	lastWait  = 4 * time.Second

	// maxRetryAfter is the longest Retry-After that is waited for; after a longer one the call fails immediately.
	maxRetryAfter = 10 * time.Second
)

// request is a call of the API.
type request struct {
	method      string
	path        string // escaped, from /api/v1 on
	query       url.Values
	body        []byte // nil: none
	contentType string
	key         string // the Idempotency-Key of a POST
	ifMatch     string // of a PUT, PATCH or DELETE; "": any
	ifNoneMatch string // of a PUT; "": any
	anonymous   bool   // without the token
}

// response is a successful answer of the API.
type response struct {
	Data json.RawMessage `json:"data"`
	Meta struct {
		Total      int    `json:"total"`
		NextCursor string `json:"next_cursor"` // "": the end of the list
	} `json:"meta"`
	raw  []byte // the whole body
	etag string

	created bool // by this request
}

// CallOption changes how one request is sent.
type CallOption func(*request)

// IfMatch makes a method that sends a PUT, PATCH or DELETE request, such as a Put, Change, Edit or Delete method, fail
// with CodePrecondition unless the resource has the entity tag that an earlier call returned. Such a request is not
// repeated if it may have been executed. Incidents, maintenances and some others have no entity tag: their methods
// always fail with this option.
func IfMatch(etag string) CallOption { return func(r *request) { r.ifMatch = etag } }

// IfNoneMatch makes a Put method fail with CodePrecondition if the resource exists. Such a request is not repeated if
// it may have been executed.
func IfNoneMatch() CallOption { return func(r *request) { r.ifNoneMatch = "*" } }

// OnPage names the page of a group or component that is given by its slug instead of its id.
func OnPage(slug string) CallOption {
	return func(r *request) { r.query = url.Values{"page_slug": {slug}} }
}

// Silently makes PublishIncident notify nobody.
func Silently() CallOption {
	return func(r *request) { r.query = url.Values{"notify": {"false"}} }
}

// IdempotencyKey sends the caller's key instead of a random one. The server performs requests with the same key
// once within 24 hours and repeats its first response, even to another process: a deployment that runs twice creates a
// resource once. A key has at most 255 printable ASCII characters. It is for methods that send a POST request, such as
// the Create methods; the server refuses it with other requests, or ignores it.
func IdempotencyKey(key string) CallOption { return func(r *request) { r.key = key } }

// pathOf joins the segments of a path under /api/v1, escaped.
func pathOf(segments ...string) string {
	var b strings.Builder
	b.WriteString("/api/v1")
	for _, segment := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(segment))
	}
	return b.String()
}

// get returns the resource at a path.
func get[T any](ctx context.Context, c *Client, path string, options ...CallOption) (*T, error) {
	return sendBody[T](ctx, c, request{method: http.MethodGet, path: path}, nil, options)
}

// post sends a POST request with a random Idempotency-Key, which makes it safe to repeat, and returns the resource in
// the response. A nil body sends none.
func post[T any](ctx context.Context, c *Client, path string, body any, options ...CallOption) (*T, error) {
	return sendBody[T](ctx, c, request{method: http.MethodPost, path: path, key: rand.Text()}, body, options)
}

func patch[T any](ctx context.Context, c *Client, path string, body any, options ...CallOption) (*T, error) {
	return sendBody[T](ctx, c, request{method: http.MethodPatch, path: path}, body, options)
}

func put[T any](ctx context.Context, c *Client, path string, body any, options ...CallOption) (*T, error) {
	return sendBody[T](ctx, c, request{method: http.MethodPut, path: path}, body, options)
}

// sendBody is send with a JSON body, or with none if body is nil.
func sendBody[T any](ctx context.Context, c *Client, r request, body any, options []CallOption) (*T, error) {
	if body != nil {
		var err error
		if r.body, err = json.Marshal(body); err != nil {
			return nil, err
		}
		r.contentType = "application/json"
	}
	for _, option := range options {
		option(&r)
	}
	return send[T](ctx, c, r)
}

// send sends a request and returns the resource in the answer.
func send[T any](ctx context.Context, c *Client, r request) (*T, error) {
	answer, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	v, err := decode[T](c, answer.Data)
	if object, ok := any(v).(interface{ tag(string, bool) }); ok && err == nil {
		object.tag(answer.etag, answer.created)
	}
	return v, err
}

// remove sends a DELETE request.
func (c *Client) remove(ctx context.Context, path string, options ...CallOption) error {
	r := request{method: http.MethodDelete, path: path}
	for _, option := range options {
		option(&r)
	}
	_, err := c.do(ctx, r)
	return err
}

// decode reads a resource. Unknown fields are ignored.
func decode[T any](c *Client, raw json.RawMessage) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("%s %w: %w", c.base, ErrNotAllswell, err)
	}
	if object, ok := any(v).(interface{ keep(json.RawMessage) }); ok {
		object.keep(raw)
	}
	return v, nil
}

// do sends a request, and repeats it as retry says. The error is an *Error if the server refused the request, and a
// *NetworkError if there was no response. A DELETE that finds nothing succeeds if an earlier attempt may have been
// executed; the response is then nil.
func (c *Client) do(ctx context.Context, r request) (*response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	executed := false // whether an earlier attempt may have been executed
	for attempt := 0; ; attempt++ {
		answer, err := c.attempt(ctx, r)
		if err == nil || executed && r.method == http.MethodDelete && errors.Is(err, ErrNotFound) {
			return answer, nil
		}
		executed = executed || mayBeExecuted(err)
		wait, again := retry(r, err, attempt)
		if deadline, ok := ctx.Deadline(); !again || attempt >= c.options.Retries || ok && time.Until(deadline) < wait {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

// retry reports whether a request that failed may be repeated, and after which wait.
func retry(r request, err error, attempt int) (wait time.Duration, again bool) {
	wait = firstWait << min(attempt, 16)
	wait = min(wait, lastWait)
	wait = wait/2 + randomUpTo(wait/2)
	repeatable := r.anonymous
	switch r.method {
	case http.MethodPost:
		repeatable = repeatable || r.key != ""
	case http.MethodPatch:
	default:
		repeatable = repeatable || r.ifMatch+r.ifNoneMatch == ""
	}
	if refused := (*Error)(nil); errors.As(err, &refused) {
		if refused.RetryAfter > maxRetryAfter {
			return 0, false
		}
		if refused.RetryAfter > 0 {
			wait = refused.RetryAfter + randomUpTo(refused.RetryAfter/10)
		}
		switch refused.Status {
		case http.StatusTooManyRequests: // it was not executed
			return wait, true
		case http.StatusServiceUnavailable:
			return wait, repeatable || refused.Code == CodeBusy
		case http.StatusConflict:
			return wait, refused.Code == CodeInProgress
		}
		return 0, false
	}
	if bad := (*gatewayError)(nil); errors.As(err, &bad) {
		return wait, repeatable
	}
	if failed := (*NetworkError)(nil); errors.As(err, &failed) {
		return wait, failed.retryable && (repeatable || !failed.MayBeExecuted)
	}
	return 0, false
}

// mayBeExecuted reports whether a request that failed may have been executed nevertheless.
func mayBeExecuted(err error) bool {
	if refused := (*Error)(nil); errors.As(err, &refused) {
		return refused.Status == http.StatusServiceUnavailable && refused.Code != CodeBusy
	}
	if failed := (*NetworkError)(nil); errors.As(err, &failed) {
		return failed.MayBeExecuted
	}
	return errors.As(err, new(*gatewayError))
}

func randomUpTo(d time.Duration) time.Duration {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(d)+1))
	if err != nil {
		return d
	}
	return time.Duration(n.Int64())
}

// attempt sends a request once.
func (c *Client) attempt(ctx context.Context, r request) (*response, error) {
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		connected.Store(true)
	}})
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	sent, err := http.NewRequestWithContext(traced, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	if !r.anonymous {
		sent.Header.Set("Authorization", "Bearer "+c.token)
	}
	sent.Header.Set("Accept", "application/json")
	sent.Header.Set("Prefer", "problems") // see Error.Problems
	sent.Header.Set("User-Agent", c.options.UserAgent)
	if r.contentType != "" {
		sent.Header.Set("Content-Type", r.contentType)
	}
	if r.key != "" {
		sent.Header.Set("Idempotency-Key", r.key)
	}
	if r.ifMatch != "" {
		sent.Header.Set("If-Match", r.ifMatch)
	}
	if r.ifNoneMatch != "" {
		sent.Header.Set("If-None-Match", r.ifNoneMatch)
	}
	got, err := c.http.Do(sent)
	if err != nil {
		return nil, c.networkError(r, err, connected.Load())
	}
	defer got.Body.Close()
	body, err := io.ReadAll(io.LimitReader(got.Body, maxResponse+1))
	if err != nil {
		return nil, c.networkError(r, err, true)
	}
	if len(body) > maxResponse {
		return nil, fmt.Errorf("%s answered with more than %d bytes", c.base, maxResponse)
	}
	return c.read(r, got, body)
}

// networkError returns the error of a request without a response. connected reports whether there was a connection to
// send it on.
func (c *Client) networkError(r request, err error, connected bool) *NetworkError {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	failed := &NetworkError{
		URL: c.base, Timeout: c.options.Timeout, Err: err,
		MayBeExecuted: connected && r.method != http.MethodGet && r.method != http.MethodHead,
	}
	var (
		dial   *net.OpError
		lookup *net.DNSError
	)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.As(err, &lookup):
		failed.retryable = lookup.IsTemporary || lookup.IsTimeout
	case connected:
		failed.retryable = true
	case errors.As(err, &dial):
		failed.retryable = dial.Op == "dial"
	}
	return failed
}

// read returns the answer if it is a success, and otherwise an error.
func (c *Client) read(r request, got *http.Response, body []byte) (*response, error) {
	answer := &response{raw: body, etag: got.Header.Get("ETag"), created: got.StatusCode == http.StatusCreated}
	success := got.StatusCode/100 == 2
	if success && got.StatusCode == http.StatusNoContent {
		return answer, nil
	}
	if success {
		if err := json.Unmarshal(body, answer); err != nil || answer.Data == nil && !r.anonymous {
			return nil, fmt.Errorf("%s %w (%s)", c.base, ErrNotAllswell, printable(got.Status))
		}
		return answer, nil
	}
	refused := &Error{Method: r.method, Path: r.path, Status: got.StatusCode, RequestID: got.Header.Get("X-Request-Id")}
	if err := json.Unmarshal(body, refused); err != nil || refused.Message == "" {
		return nil, c.notAllswell(got)
	}
	if refused.Code == "" {
		refused.Code = codeOf(got.StatusCode)
	}
	if refused.Problems == nil {
		for _, field := range slices.Sorted(maps.Keys(refused.Errors)) {
			for _, message := range refused.Errors[field] {
				refused.Problems = append(refused.Problems, Problem{Field: field, Code: asText(message)})
			}
		}
	}
	if seconds, err := strconv.Atoi(got.Header.Get("Retry-After")); err == nil && seconds > 0 {
		refused.RetryAfter = time.Duration(seconds) * time.Second
	}
	return nil, refused
}

// notAllswell returns the error of a response that no Allswell server sends.
func (c *Client) notAllswell(got *http.Response) error {
	switch location := got.Header.Get("Location"); got.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &gatewayError{fmt.Errorf("%s %w (%s)", c.base, ErrNotAllswell, printable(got.Status))}
	default:
		if got.StatusCode/100 == 3 && location != "" {
			return fmt.Errorf("%s redirects to %s: use that address", c.base, printable(location))
		}
		return fmt.Errorf("%s %w (%s)", c.base, ErrNotAllswell, printable(got.Status))
	}
}

// gatewayError is the response of a proxy that did not reach the server.
type gatewayError struct{ error }

func (e *gatewayError) Unwrap() error { return e.error }

// printable removes control characters from text that another server sent.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
}
