package resource

import (
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/field"
)

type silence = alert.Silence

// Silence describes silences.
var Silence = field.New(field.Resource[silence]{
	Noun: "silence", Path: "silences", Object: kernel.ObjectSilence, Rules: silenceTimes, Title: silence.Title,
	Calls: []string{"create", "get", "change"},
	Doc: "a time in which alerts are held back. Alerts that last longer, and those about an instant, are sent at " +
		"its end",
	Example: silence{
		ID: "sil_068vq2r4b1ccu5a0d3e1", Filter: alert.Filter{Tags: []string{"database"}},
		About: "everything, tagged database", Comment: "Restore test",
		StartsAt: exampleDay, EndsAt: exampleDay.Add(2 * time.Hour), CreatedBy: "Ada", CreatedAt: exampleDay,
		UpdatedAt: exampleDay,
	},
	Fields: slices.Concat(
		[]*field.Field[silence]{field.ID("id", alert.PrefixSilence, func(s *silence) *string { return &s.ID })},
		matchFields("filter", func(s *silence) *alert.Filter { return &s.Filter }),
		[]*field.Field[silence]{
			field.Text("about", func(s *silence) *string { return &s.About }).ReadOnly().NoColumn().
				Doc("What it is about, in English words"),
			field.Lines("comment", func(s *silence) *string { return &s.Comment }).Max(kernel.MaxMessageLength).
				Doc("Reason for the silence").
				Form("Why", "", "Restore test"),
			field.Time("starts_at", func(s *silence) *time.Time { return &s.StartsAt }).
				Default(func(s *silence, now time.Time) { s.StartsAt = now }).
				Doc("Time from which alerts are held back").Empty("from now on").Flag("from").
				Form("From", "", ""),
			field.Time("ends_at", func(s *silence) *time.Time { return &s.EndsAt }).Required().
				Doc("Time at which it ends, at most 366 days after it starts").Flag("until").
				Form("Until", "", ""),
			field.Text("created_by", func(s *silence) *string { return &s.CreatedBy }).ReadOnly().
				Doc("Name of the person or of the token that created it"),
			field.Time("created_at", func(s *silence) *time.Time { return &s.CreatedAt }).ReadOnly(),
			field.Time("updated_at", func(s *silence) *time.Time { return &s.UpdatedAt }).ReadOnly(),
		},
	),
})

// silenceTimes checks the times of a silence, which cannot be changed when it has ended.
func silenceTimes(s, before *silence, now time.Time, bad *kernel.ValidationError) {
	switch {
	case before != nil && !before.EndsAt.After(now):
		bad.Add("ends_at", "The silence has ended. Create another one.")
	case s.EndsAt.IsZero(): // it is required
	case !s.EndsAt.After(s.StartsAt):
		bad.Add("ends_at", "must be after the %s", kernel.Name("starts_at"))
	case !s.EndsAt.After(now):
		bad.Add("ends_at", "must be in the future")
	case s.EndsAt.Sub(s.StartsAt) > alert.MaxSilence:
		bad.Add("ends_at", "A silence may last at most %d days.", alert.MaxSilence/(24*time.Hour))
	}
}
