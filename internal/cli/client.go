package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/buildinfo"
)

// The limits of a call over the API.
const (
	callTimeout = 30 * time.Second
	maxAnswer   = 16 << 20 // bytes
	listPerPage = 100      // the most that the API gives at once
)

// client drives an Allswell over its API.
type client struct {
	base  string // without a trailing slash
	token string
	http  *http.Client
}

// newClient returns a client of the Allswell at base. Nothing is sent yet.
func newClient(base, token string) *client {
	return &client{base, token, &http.Client{
		Timeout: callTimeout,
		// A redirect would carry the token to somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

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

// body is the JSON object of a request. What was not given is left out.
type body map[string]any

// call makes one request and returns what is under "data". An answer that is
// not a success is an *apiError.
func (c *client) call(ctx context.Context, method, path string, fields body) (json.RawMessage, error) {
	answer, err := c.exchange(ctx, method, path, fields)
	return answer.Data, err
}

// envelope is what every answer of the API comes in.
type envelope struct {
	Data json.RawMessage `json:"data"`
	Meta struct {
		Total int `json:"total"`
	} `json:"meta"`
	apiError
}

func (c *client) exchange(ctx context.Context, method, path string, fields body) (envelope, error) {
	if fields == nil {
		return c.send(ctx, method, path, "", nil)
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return envelope{}, err
	}
	return c.send(ctx, method, path, "application/json", bytes.NewReader(raw))
}

// send makes one request with a body of whatever type, or with none.
func (c *client) send(ctx context.Context, method, path, contentType string, sent io.Reader) (envelope, error) {
	var answer envelope
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, sent)
	if err != nil {
		return answer, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "allswell/"+buildinfo.Read().Version)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return answer, c.unreachable(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return answer, c.unreachable(err)
	}
	if len(raw) > maxAnswer {
		return answer, fmt.Errorf("%s answered with more than %d bytes", c.base, maxAnswer)
	}
	return c.read(response, raw)
}

// read tells a success from everything else.
func (c *client) read(response *http.Response, raw []byte) (answer envelope, err error) {
	success := response.StatusCode/100 == 2
	if len(raw) > 0 || response.StatusCode != http.StatusNoContent {
		if err := json.Unmarshal(raw, &answer); err != nil || success && answer.Data == nil || !success && answer.Message == "" {
			return answer, c.strange(response)
		}
	}
	if success {
		return answer, nil
	}
	refused := answer.apiError
	refused.unchanged = response.Request.Method != http.MethodGet
	refused.status, refused.path = response.StatusCode, response.Request.URL.EscapedPath()
	refused.retryAfter = response.Header.Get("Retry-After")
	return answer, &refused
}

// strange is what is said about an answer that no Allswell gives.
func (c *client) strange(response *http.Response) error {
	if to := response.Header.Get("Location"); response.StatusCode/100 == 3 && to != "" {
		return fmt.Errorf("%s answers with a redirect to %s: give the address itself", c.base, visible(to))
	}
	return fmt.Errorf("%s does not answer like an Allswell (%s)", c.base, visible(response.Status))
}

// unreachable says why there was no answer.
func (c *client) unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted before there was an answer; what was asked for may have been done")
	}
	if timeout := (*url.Error)(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%s did not answer within %s; what was asked for may have been done", c.base, callTimeout)
	}
	return fmt.Errorf("%s cannot be reached: %w", c.base, cause(err))
}

// cause takes off a network error what repeats the address.
func cause(err error) error {
	var (
		system *os.SyscallError
		lookup *net.DNSError
		call   *url.Error
	)
	switch {
	case errors.As(err, &system):
		return system.Err
	case errors.As(err, &lookup):
		return fmt.Errorf("its name cannot be looked up: %s", lookup.Err)
	case errors.As(err, &call):
		return call.Err
	}
	return err
}

// list reads a whole list, or its first most objects, and how many there are
// in all. path may have a query.
func (c *client) list(ctx context.Context, path string, most int) (objects []json.RawMessage, total int, err error) {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	for page := 1; len(objects) < most; page++ {
		perPage := min(most, listPerPage)
		answer, err := c.exchange(ctx, http.MethodGet,
			path+separator+"per_page="+strconv.Itoa(perPage)+"&page="+strconv.Itoa(page), nil)
		if err != nil {
			return nil, 0, err
		}
		var some []json.RawMessage
		if err := json.Unmarshal(answer.Data, &some); err != nil {
			return nil, 0, fmt.Errorf("%s does not answer like an Allswell: a list was expected", c.base)
		}
		objects, total = append(objects, some...), answer.Meta.Total
		if len(some) < perPage {
			break
		}
	}
	return objects[:min(len(objects), most)], total, nil
}

// decode reads an object of the API. Keys that are not known are left alone.
func decode[T any](raw json.RawMessage) (T, error) {
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("the answer is not what an Allswell gives: %w", err)
	}
	return out, nil
}

// read reads one object.
func read[T any](ctx context.Context, c *client, path string) (T, error) {
	raw, err := c.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](raw)
}

// The objects of the API, as far as they are shown.

type apiPage struct {
	ID, Slug, Name, Status string
	URL                    string // where people see it
	Description            *string
	TimeZone               string `json:"time_zone"`
	Language               *string
	Domain                 *string
	DomainStatus           *string `json:"domain_status"`
	Accent                 *string
	FooterLinks            []struct{ Label, URL string } `json:"footer_links"`
	Logo, Icon             *string                       // where they are to be had
	CreatedAt              string                        `json:"created_at"`
	UpdatedAt              string                        `json:"updated_at"`
}

// pageURL returns where people see a page; where that cannot be had, the address
// that works from here.
func (t *talk) pageURL(slug string) string {
	page, err := read[apiPage](t.ctx, t.api, pathOf("pages", slug))
	if err != nil || page.URL == "" {
		return t.api.base + "/status/" + slug
	}
	return page.URL
}

type apiGroup struct {
	ID, Name string
	Order    int
}

type apiComponent struct {
	ID, Name, Status string
	Description      *string
	Order            int
	CreatedAt        string `json:"created_at"`
	UpdatedAt        string `json:"updated_at"`
}

type apiIncident struct {
	ID, Title, Impact, State string
	Resolved                 bool
	ResolvedAt               *string `json:"resolved_at"`
	CreatedAt                string  `json:"created_at"`
	UpdatedAt                string  `json:"updated_at"`
	Updates                  []apiUpdate
}

type apiUpdate struct {
	ID, Message, State string // the state is a maintenance's
	CreatedAt          string `json:"created_at"`
}

type apiMaintenance struct {
	ID, Title, State string
	ScheduledFor     string  `json:"scheduled_for"`
	ScheduledUntil   string  `json:"scheduled_until"`
	BegunAt          *string `json:"begun_at"`
	EndedAt          *string `json:"ended_at"`
	RemindBefore     int64   `json:"remind_before"`
	Components       []apiComponent
	Updates          []apiUpdate
}

type apiUptime struct {
	Days       int
	TimeZone   string `json:"time_zone"`
	Uptime     *float64
	Components []struct {
		ID, Name, Status string
		Group            *string // its id
		Uptime           *float64
	}
	Groups []struct {
		ID, Name string
		Uptime   *float64
	}
}

type apiMonitor struct {
	ID, Name, State, Page string
	PingURL               string `json:"ping_url"`
	Interval              int64
	Enabled               bool
	NextCheckAt           *string `json:"next_check_at"`
	LastPingAt            *string `json:"last_ping_at"`
	ConsecutiveFailures   int     `json:"consecutive_failures"`
	FailureThreshold      *int    `json:"failure_threshold"`
	ComponentID           *string `json:"component_id"`
	DownStatus            string  `json:"down_status"`
}

type apiSubscriber struct {
	ID, Channel, Target string
	Confirmed           bool
	WholePage           bool `json:"whole_page"`
	Components          []string
	Secret              string
	SuspendedAt         *string `json:"suspended_at"`
	SuspendedFor        *string `json:"suspended_for"`
	Refusals            int
	CreatedAt           string  `json:"created_at"`
	ConfirmedAt         *string `json:"confirmed_at"`
}

type apiDelivery struct {
	ID, Purpose, State string
	Target, Event      *string
	Attempts           int
	Reason             *string
	NextAttemptAt      *string `json:"next_attempt_at"`
	CreatedAt          string  `json:"created_at"`
	CarriedBy          *string `json:"carried_by"`
}
