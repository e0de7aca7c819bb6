package client

import (
	"context"
	"time"
)

// CheckResult is the result of one check of a monitor's target.
type CheckResult struct {
	Meta
	Status CheckStatus `json:"status"`
	// why it failed, what it warns of, or why it is unknown; nil: none
	Reason               *string     `json:"reason"`
	Warning              bool        `json:"warning"` // the result is good, and Reason is a warning
	DueAt                time.Time   `json:"due_at"`
	StartedAt            time.Time   `json:"started_at"`
	Phases               CheckPhases `json:"phases"`
	Location             *string     `json:"location"`               // of the replica that checked; nil: not set
	CertificateExpiresAt *time.Time  `json:"certificate_expires_at"` // nil: no certificate was seen
	// the beginning of the response to a failed check; nil: there is none, or the token has the scope read
	Body *string `json:"body"`
}

// CheckPhases are the times that the parts of a check took. A part that did not happen is nil.
type CheckPhases struct {
	DNS       *DecimalSeconds `json:"dns"`
	Connect   *DecimalSeconds `json:"connect"`
	TLS       *DecimalSeconds `json:"tls"`
	FirstByte *DecimalSeconds `json:"first_byte"` // from the request to the first byte of the response
	Total     DecimalSeconds  `json:"total"`
}

// ListCheckResults returns the results of the checks of a monitor in the last 24 hours, the newest first.
func (c *Client) ListCheckResults(monitor string) *List[CheckResult] {
	return &List[CheckResult]{client: c, path: pathOf("monitors", monitor, "results")}
}

// TestMonitor checks the target of a monitor once, and records nothing. A check that fails is a result, not an error.
func (c *Client) TestMonitor(ctx context.Context, id string) (*CheckResult, error) {
	return post[CheckResult](ctx, c, pathOf("monitors", id, "test"), nil, IdempotencyKey(""))
}

// CheckTest describes a check to make once.
type CheckTest struct {
	Type      MonitorType     `json:"type"`
	Timeout   Seconds         `json:"timeout,omitempty"` // 0: the default
	SlowAfter *DecimalSeconds `json:"slow_after,omitempty"`
	Check     Check           `json:"-"` // the fields of the Type, with secrets
}

// MarshalJSON returns the test with the fields of Check beside the others.
func (t CheckTest) MarshalJSON() ([]byte, error) {
	type plain CheckTest
	return marshalFlat(plain(t), t.Check)
}

// TestNewMonitor makes the check of a new monitor once, and creates nothing. A check that fails is a result, not an
// error.
func (c *Client) TestNewMonitor(ctx context.Context, test CheckTest) (*CheckResult, error) {
	return post[CheckResult](ctx, c, pathOf("monitors", "test"), test, IdempotencyKey(""))
}
