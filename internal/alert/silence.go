package alert

import (
	"slices"
	"time"

	"github.com/allswell/allswell"
)

// MaxSilences is the maximum number of silences of a workspace that have not ended.
const MaxSilences = 500

// MaxSilence is the longest time that a silence may last.
const MaxSilence = 366 * 24 * time.Hour

// Silence holds alerts back for a time. Alerts that last longer, and those about an instant, are sent at its end.
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

// Validate returns an *allswell.ValidationError with every invalid field of a silence that was saved before, or of a
// new one if saved is the zero value. A comment that has not changed stays, even if it would not be accepted today. The
// store checks that pages and monitors exist.
func (s Silence) Validate(saved Silence, now time.Time) error {
	var bad allswell.ValidationError
	s.Filter.check(&bad)
	if s.Comment != saved.Comment {
		allswell.CheckLines(&bad, "comment", s.Comment, allswell.MaxMessageLength)
	}
	switch {
	case !s.EndsAt.After(s.StartsAt):
		bad.Add("ends_at", "must be after the %s", allswell.Name("starts_at"))
	case !s.EndsAt.After(now):
		bad.Add("ends_at", "must be in the future")
	case s.EndsAt.Sub(s.StartsAt) > MaxSilence:
		bad.Add("ends_at", "A silence may last at most %d days.", MaxSilence/(24*time.Hour))
	}
	return bad.Err()
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
