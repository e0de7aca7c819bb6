package alert

import (
	"cmp"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// Prefixes of ids.
const (
	PrefixAlert    = "alt_"
	PrefixChannel  = "chn_"
	PrefixMessage  = "msg_"
	PrefixNotice   = "ntc_"
	PrefixOnCall   = "onc_"
	PrefixOverride = "ovr_"
	PrefixRule     = "rul_"
	PrefixSilence  = "sil_"
	PrefixThread   = "thr_"
)

// Retention is how long an alert is kept after it has ended.
const Retention = 90 * 24 * time.Hour

// State is the state of an alert.
type State string

// The states.
const (
	Open         State = "open"
	Acknowledged State = "acknowledged" // nothing is repeated or escalated
	Resolved     State = "resolved"     // what it was about is over
)

// States lists all states.
var States = []State{Open, Acknowledged, Resolved}

// Subject is what an alert is about, as it was when the alert began.
type Subject struct {
	Event       Event         `json:"event"`
	MonitorID   string        `json:"monitor_id,omitempty"`
	MonitorSlug string        `json:"monitor_slug,omitempty"`
	PageID      string        `json:"page_id,omitempty"`
	PageSlug    string        `json:"page_slug,omitempty"`
	Name        string        `json:"name"` // of the monitor or of another object
	Severity    kernel.Impact `json:"severity"`
	Tags        []string      `json:"tags,omitempty"`
	// one sentence without a full stop, such as "connection refused by 10.0.0.5:443"
	Reason string `json:"reason,omitempty"`
}

// Alert follows one problem from its beginning to its end.
type Alert struct {
	ID          string
	WorkspaceID string
	Subject
	Key            string    // id of the outage, the warning or another object, which the event that ends it has, too
	OpenedAt       time.Time // when the problem began
	AcknowledgedAt time.Time // zero: nobody has acknowledged it
	AcknowledgedBy string    // the kernel.Actor.DisplayName of who acknowledged it
	ResolvedAt     time.Time // zero: it lasts
	// why it ended although the problem may last, such as "the monitor was deleted"; "": the problem is over
	EndReason string
}

// State returns the state of the alert.
func (a Alert) State() State {
	switch {
	case !a.ResolvedAt.IsZero():
		return Resolved
	case !a.AcknowledgedAt.IsZero():
		return Acknowledged
	}
	return Open
}

// Title returns what has happened as a sentence without a full stop: "Nightly backup is down", also if the alert has
// ended.
func (a Alert) Title() string { return a.Name + " " + a.Event.row().one }

// Outcome returns what is true now as a sentence without a full stop: "Nightly backup is down", or "Nightly backup is
// up again" if the alert has ended.
func (a Alert) Outcome() string {
	row := a.Event.row()
	switch {
	case a.State() != Resolved || row.over == "":
	case a.EndReason != "":
		return "Alert for " + a.Name + " resolved"
	default:
		return a.Name + " " + row.over
	}
	return a.Title()
}

// Filter says which alerts a rule or a silence is about. An empty list does not limit it; otherwise one of its values
// must match.
type Filter struct {
	Events     []Event
	Pages      []string // ids
	Monitors   []string // ids
	Tags       []string
	Severities []kernel.Impact
}

// MatchesAll reports whether no list limits the filter.
func (f Filter) MatchesAll() bool {
	return len(f.Events)+len(f.Pages)+len(f.Monitors)+len(f.Tags)+len(f.Severities) == 0
}

// Differs returns the first field of the filter that does not match the subject: events, pages, monitors, tags or
// severities. "" means that all match.
func (f Filter) Differs(s Subject) (field string) {
	switch {
	case !oneOf(f.Events, s.Event):
		return "events"
	case !oneOf(f.Pages, s.PageID):
		return "pages"
	case !oneOf(f.Monitors, s.MonitorID):
		return "monitors"
	case len(f.Tags) > 0 && !slices.ContainsFunc(s.Tags, func(tag string) bool { return slices.Contains(f.Tags, tag) }):
		return "tags"
	case !oneOf(f.Severities, s.Severity):
		return "severities"
	}
	return ""
}

func oneOf[T comparable](accepted []T, value T) bool {
	return len(accepted) == 0 || slices.Contains(accepted, value)
}

// Words describes the filter in English, such as "Nightly backup or Shop, with the severity critical". names maps the
// ids of pages and monitors to their names.
func (f Filter) Words(names map[string]string) string {
	either := func(ids []string) string {
		var all []string
		for _, id := range ids {
			all = append(all, cmp.Or(names[id], "something deleted"))
		}
		return listOf(all, "or")
	}
	about := "everything"
	if len(f.Monitors) > 0 {
		about = either(f.Monitors)
	}
	if len(f.Pages) > 0 {
		about += " on " + either(f.Pages)
	}
	if len(f.Tags) > 0 {
		about += ", tagged " + listOf(f.Tags, "or")
	}
	if len(f.Severities) > 0 {
		about += ", with the severity " + listOf(textsOf(f.Severities), "or")
	}
	if len(f.Events) > 0 {
		about += ", of " + listOf(textsOf(f.Events), "or")
	}
	return about
}

// MaxFilter is the maximum number of values in one list of a filter.
const MaxFilter = 200

// CheckTags adds an error to bad if one of the tags of a filter is not valid.
func CheckTags(bad *kernel.ValidationError, tags []string) {
	for _, tag := range tags {
		if !monitor.ValidTag(tag) {
			bad.Add("tags", "Each of the tags must have 1 to %d characters: lower-case letters, digits and hyphens.",
				monitor.MaxTagLength)
			break
		}
	}
}

func joined[T ~string](values []T) string {
	text := ""
	for i, v := range values {
		if i > 0 {
			text += ", "
		}
		text += string(v)
	}
	return text
}
