package client

import (
	"context"
	"encoding/base64"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Signal is a report of a job about itself, or a plain ping.
type Signal struct {
	Meta
	ID         string     `json:"id"`
	ReceivedAt time.Time  `json:"received_at"`
	Kind       SignalKind `json:"kind"`
	ExitCode   *int       `json:"exit_code"`
	Duration   *float64   `json:"duration"` // of the run that it ended, in seconds; nil: it ended none
	RunID      *string    `json:"run_id"`
	Address    *string    `json:"address"` // of the client
	UserAgent  string     `json:"user_agent"`
	BodySize   int        `json:"body_size"` // bytes that are kept of its body
	BodyCut    bool       `json:"body_cut"`  // the body was longer
}

// ListPings returns an iterator over the pings and signals of a monitor, the newest first. kind limits them;
// "": all. It asks the server for 100 at a time, when they are needed. After an error the iteration ends.
func (c *Client) ListPings(ctx context.Context, monitor string, kind SignalKind) iter.Seq2[*Signal, error] {
	query := url.Values{"limit": {strconv.Itoa(maxPerPage)}}
	if kind != "" {
		query.Set("kind", string(kind))
	}
	return listByCursor[Signal](ctx, c, pathOf("monitors", monitor, "pings"), query)
}

// SignalBody is the end of the output that a signal brought.
type SignalBody struct {
	Meta
	ID       string `json:"id"`
	Encoding string `json:"encoding"` // of Body: utf-8 or base64
	Body     string `json:"body"`
	Cut      bool   `json:"cut"` // the beginning is missing
}

// Bytes returns the output as it was sent.
func (b *SignalBody) Bytes() ([]byte, error) {
	if b.Encoding == "base64" {
		return base64.StdEncoding.DecodeString(b.Body)
	}
	return []byte(b.Body), nil
}

// GetPingBody returns the end of the output that a signal brought.
func (c *Client) GetPingBody(ctx context.Context, monitor, signal string) (*SignalBody, error) {
	return get[SignalBody](ctx, c, pathOf("monitors", monitor, "pings", signal, "body"))
}

// SignalReport is what a job reports.
type SignalReport struct {
	Kind     SignalKind
	ExitCode *int   // given instead of the kind, if not nil
	RunID    string // a UUID; "": none
	Output   []byte // the server keeps the last 100,000 bytes
}

// Signal records a report of a job. The token is the monitor's ping token, or a page's ping key, a slash and the
// monitor's slug. When Signal returns nil, the report is durable. It needs no API token.
func (c *Client) Signal(ctx context.Context, token string, report SignalReport) error {
	name := string(report.Kind)
	if report.ExitCode != nil {
		name = strconv.Itoa(*report.ExitCode)
	}
	r := request{method: http.MethodPost, path: heartbeatPath(token, name), body: report.Output, anonymous: true}
	if report.RunID != "" {
		r.query = url.Values{"rid": {report.RunID}}
	}
	_, err := c.do(ctx, r)
	return err
}

// IncidentNote says how the job of an incident's monitor failed. Visitors and subscribers do not see it.
type IncidentNote struct {
	Meta
	ID        string    `json:"id"`
	ExitCode  *int      `json:"exit_code"`
	Output    string    `json:"output"` // the end of the output; "": there was none
	CreatedAt time.Time `json:"created_at"`
}

// ListIncidentNotes returns the notes of an incident, the oldest first. Most incidents have none.
func (c *Client) ListIncidentNotes(incident string) *List[IncidentNote] {
	return &List[IncidentNote]{client: c, path: pathOf("incidents", incident, "notes")}
}

// Warning says how a run of a monitor's job violated a condition. Visitors and subscribers of the page do not see it.
type Warning struct {
	Meta
	ID        string     `json:"id"`
	Condition Condition  `json:"condition"`
	Message   string     `json:"message"`
	RunID     *string    `json:"run_id"`
	WarnedAt  time.Time  `json:"warned_at"`
	EndedAt   *time.Time `json:"ended_at"` // when a run satisfied the condition again; nil: not yet
}

// ListWarnings returns an iterator over the warnings of a monitor, the newest first. condition limits them; "": all. It
// asks the server for 100 at a time, when they are needed. After an error the iteration ends.
func (c *Client) ListWarnings(ctx context.Context, monitor string, condition Condition) iter.Seq2[*Warning, error] {
	query := url.Values{"limit": {strconv.Itoa(maxPerPage)}}
	if condition != "" {
		query.Set("condition", string(condition))
	}
	return listByCursor[Warning](ctx, c, pathOf("monitors", monitor, "warnings"), query)
}
