package resource

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/field"
)

type announcement = statuspage.Announcement

// Announcement describes announcements.
var Announcement = field.New(field.Resource[announcement]{
	Noun: "announcement", Path: "announcements", OnPage: true, Object: kernel.ObjectAnnouncement,
	Rules: announcementTimes, Doc: "a notice at the top of a page. It changes no status, and no one is notified",
	Example: announcement{
		ID: "ann_068vq2r4b1ccu5a0d3e1", Title: "We are moving to a new data centre",
		Message: "Nothing changes for you.",
		Level:   statuspage.AnnouncementInfo, ShownFrom: exampleDay, ShownUntil: exampleDay.AddDate(0, 0, 7),
		CreatedAt: exampleDay, UpdatedAt: exampleDay,
	},
	Fields: []*field.Field[announcement]{
		field.ID("id", kernel.PrefixAnnouncement, func(a *announcement) *string { return &a.ID }),
		field.Text("title", func(a *announcement) *string { return &a.Title }).
			Required().Max(kernel.MaxTitleLength).
			Doc("Title of the announcement").
			Form("Title", "", "We are moving to a new data centre"),
		field.Markdown("message", func(a *announcement) *string { return &a.Message }).
			Max(statuspage.MaxAnnouncementLength).
			Doc("Text in Markdown").Empty("only the title is shown").
			Form("Text", "Markdown: **bold**, lists, links.", ""),
		field.Choice("level", func(a *announcement) *statuspage.AnnouncementLevel { return &a.Level },
			field.Of(statuspage.AnnouncementInfo, "information"), field.Of(statuspage.AnnouncementWarning, "warning")).
			Default(func(a *announcement, _ time.Time) { a.Level = statuspage.AnnouncementInfo }).
			Doc("How urgent it looks").
			Form("Level", "", ""),
		field.Time("shown_from", func(a *announcement) *time.Time { return &a.ShownFrom }).
			Default(func(a *announcement, now time.Time) { a.ShownFrom = now }).
			Doc("Time from which it is shown").Empty("from now on").Flag("from").
			Form("Shown from", "", ""),
		field.Time("shown_until", func(a *announcement) *time.Time { return &a.ShownUntil }).
			Nullable().
			Doc("Time from which it is no longer shown").Empty("until it is deleted").Flag("until").
			Form("Shown until", "", ""),
		field.Time("created_at", func(a *announcement) *time.Time { return &a.CreatedAt }).ReadOnly(),
		field.Time("updated_at", func(a *announcement) *time.Time { return &a.UpdatedAt }).ReadOnly(),
	},
})

// announcementTimes checks the times of an announcement.
func announcementTimes(a, _ *announcement, now time.Time, bad *kernel.ValidationError) {
	for name, t := range map[string]time.Time{"shown_from": a.ShownFrom, "shown_until": a.ShownUntil} {
		if t.After(now.Add(statuspage.MaxMaintenanceLead)) {
			bad.Add(name, "must be within two years")
		}
	}
	if !a.ShownUntil.IsZero() && !a.ShownUntil.After(a.ShownFrom) {
		bad.Add("shown_until", "must be after %s", kernel.Name("shown_from"))
	}
}
