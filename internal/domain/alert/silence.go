package alert

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaxSilences is the maximum number of silences of a workspace that have not ended.
const MaxSilences = 500

// MaxSilence is the longest time that a silence may last.
const MaxSilence = 366 * 24 * time.Hour

// Silence holds alerts back for a time. At its end, alerts that still last and alerts about an instant are sent.
type Silence struct {
	ID          string
	WorkspaceID string
	Filter             // what it is about
	Comment     string // why; "": not said
	StartsAt    time.Time
	EndsAt      time.Time
	About       string // see Filter.Words; set by the store
	CreatedBy   string // the name of a person or of a token
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Title returns what the audit log calls the silence: its comment or, if it has none, its end.
func (s Silence) Title() string {
	comment := kernel.OneLine(strings.Join(strings.Fields(s.Comment), " "))
	return cmp.Or(Shorten(comment, 80), "until "+kernel.FormatTime(s.EndsAt))
}

// SilencedUntil returns the instant until which alerts of a subject are held back without a break; zero: they are not.
func SilencedUntil(all []Silence, s Subject, now time.Time) time.Time {
	var matching []Silence
	for _, silence := range all {
		if silence.Differs(s) == "" {
			matching = append(matching, silence)
		}
	}
	slices.SortFunc(matching, func(a, b Silence) int { return a.StartsAt.Compare(b.StartsAt) })
	until := now
	for _, silence := range matching {
		if !silence.StartsAt.After(until) && silence.EndsAt.After(until) {
			until = silence.EndsAt
		}
	}
	if until.Equal(now) {
		return time.Time{}
	}
	return until
}
