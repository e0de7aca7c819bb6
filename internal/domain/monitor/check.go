package monitor

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MonitorType is the type of a monitor: MonitorHeartbeat, or the type of a check.
type MonitorType string

// MonitorHeartbeat is the type of monitors that expect pings. The service checks the targets of all other types itself;
// the package internal/check lists them.
const MonitorHeartbeat MonitorType = "heartbeat"

// Limits and defaults of checks. An interval is also a whole number of seconds, and longer than the timeout.
const (
	MinCheckInterval         = 10 * time.Second
	MaxCheckInterval         = 24 * time.Hour
	DefaultCheckInterval     = time.Minute
	MinCheckTimeout          = time.Second
	MaxCheckTimeout          = 2 * time.Minute
	DefaultCheckTimeout      = 10 * time.Second // but at most half the interval
	DefaultRecoveryThreshold = 1
	MaxRecoveryThreshold     = 100
	MaxConfirmFrom           = 10
	MaxCheckConfig           = 64 << 10 // bytes of a CheckSpec's Config and Secrets
	MaxFailedBody            = 1 << 10  // bytes of the response to a failed check that are kept
	CheckResultRetention     = 24 * time.Hour
	// MaxMonitors is the highest limit of the monitors of a workspace that can be set.
	MaxMonitors        = 10_000_000
	DefaultMaxMonitors = 10_000

	MaxParents = 10 // of a monitor: its parent, the parent's parent, and so on
)

// CheckSpec is the configuration of a check. The zero value belongs to heartbeat monitors.
type CheckSpec struct {
	Timeout           time.Duration
	SlowAfter         time.Duration // a good result that takes longer is slow; 0: none is
	RecoveryThreshold int           // consecutive good results that end an outage
	ConfirmFrom       int           // locations that must find the target failing before a failure counts
	Config            json.RawMessage
	// values by field; write-only, so they are loaded only to run the check
	Secrets      map[string]json.RawMessage
	SecretFields []string // the fields that have a secret, in order
}

// CheckStatus is the status of a check's result.
type CheckStatus string

// The statuses of results.
const (
	CheckOK     CheckStatus = "ok"
	CheckSlow   CheckStatus = "slow"   // good, but slower than CheckSpec.SlowAfter
	CheckFailed CheckStatus = "failed" // the target does not work as expected
	// the replica itself caused the failure, such as by its network, so the result says nothing about the target
	CheckUnknown CheckStatus = "unknown"
)

// CheckStatuses lists all statuses.
var CheckStatuses = []CheckStatus{CheckOK, CheckSlow, CheckFailed, CheckUnknown}

// CheckPhases are the times that the parts of a check took. A part that did not happen is 0.
type CheckPhases struct {
	DNS       time.Duration // resolving the name
	Connect   time.Duration // connecting, after DNS
	TLS       time.Duration // the TLS handshake
	FirstByte time.Duration // from the request to the first byte of the response
	Total     time.Duration // of the whole check
}

// CheckResult is the result of one check.
type CheckResult struct {
	MonitorID string
	Version   int64     // of the configuration that was checked; results of an older one are dropped
	Replica   string    // id of the replica that checked
	DueAt     time.Time // when the check, or the recheck after a failure, was due
	StartedAt time.Time // when it began, by the database's clock
	Status    CheckStatus
	// why it failed or warns, in English, such as "HTTP 502 (expected 200–299)"; "": neither
	Reason               string
	Answered             bool // the target answered, so the network works: a failure is the target's
	Warning              bool // Reason is a warning of a good result, such as "certificate expires in 20 days"
	Phases               CheckPhases
	Location             string    // ALLSWELL_LOCATION of the replica; "": not set
	CertificateExpiresAt time.Time // zero: no certificate was seen
	Body                 string    // the first MaxFailedBody bytes of the response, if the check failed; valid UTF-8
}

// FailedBody returns the part of the response to a failed check that is kept: its first MaxFailedBody bytes, as valid
// UTF-8 without NUL.
func FailedBody(body string) string {
	if len(body) > MaxFailedBody {
		body = body[:MaxFailedBody]
		for i := 0; i < utf8.UTFMax && !utf8.RuneStart(body[len(body)-1]); i++ { // a character that was cut
			body = body[:len(body)-1]
		}
		if last, size := utf8.DecodeLastRuneInString(body); last == utf8.RuneError && size == 1 {
			body = body[:len(body)-1]
		}
	}
	body = strings.ReplaceAll(strings.ToValidUTF8(body, "\ufffd"), "\x00", "\ufffd")
	for len(body) > MaxFailedBody {
		_, size := utf8.DecodeLastRuneInString(body)
		body = body[:len(body)-size]
	}
	return body
}

// HasSecrets returns a *ValidationError with every field whose secret is missing, because it could not be decrypted.
func (c CheckSpec) HasSecrets() error {
	var bad kernel.ValidationError
	for _, field := range c.SecretFields {
		if _, ok := c.Secrets[field]; !ok {
			bad.Add(field, "The secrets of the monitor cannot be opened: give the %s again.", kernel.Name(field))
		}
	}
	return bad.Err()
}
