package allswell

import (
	"cmp"
	"slices"
	"time"
)

// AnnouncementLevel is how urgent an announcement looks.
type AnnouncementLevel string

// The levels of announcements.
const (
	AnnouncementInfo    AnnouncementLevel = "info"
	AnnouncementWarning AnnouncementLevel = "warning"
)

// AnnouncementLevels lists all levels.
var AnnouncementLevels = []AnnouncementLevel{AnnouncementInfo, AnnouncementWarning}

// Limits of announcements.
const (
	MaxAnnouncements      = 10 // of one page that have not ended
	MaxAnnouncementLength = 2_000
)

// Announcement is a notice at the top of a page. It changes no status, and nobody is notified.
type Announcement struct {
	ID         string
	PageID     string
	Title      string
	Message    string // Markdown; "": only the title is shown
	Level      AnnouncementLevel
	ShownFrom  time.Time
	ShownUntil time.Time // exclusive; zero: until it is deleted
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Shown reports whether visitors see the announcement at now.
func (a Announcement) Shown(now time.Time) bool { return !now.Before(a.ShownFrom) && !a.Over(now) }

// Over reports whether visitors do not see the announcement at now or later.
func (a Announcement) Over(now time.Time) bool {
	return !a.ShownUntil.IsZero() && !now.Before(a.ShownUntil)
}

// NewAnnouncement is the input for creating an announcement.
type NewAnnouncement struct {
	Title      string
	Message    string
	Level      AnnouncementLevel // "": AnnouncementInfo
	ShownFrom  time.Time         // zero: from now on
	ShownUntil time.Time         // zero: until it is deleted
}

// Validate returns a *ValidationError with every invalid field.
func (n NewAnnouncement) Validate(now time.Time) error { return n.Create("", "", now).validate(now) }

// Create returns the announcement.
func (n NewAnnouncement) Create(pageID, id string, now time.Time) Announcement {
	a := Announcement{
		ID: id, PageID: pageID, Title: n.Title, Message: n.Message, Level: cmp.Or(n.Level, AnnouncementInfo),
		ShownFrom: n.ShownFrom, ShownUntil: n.ShownUntil, CreatedAt: now, UpdatedAt: now,
	}
	if a.ShownFrom.IsZero() {
		a.ShownFrom = now
	}
	return a
}

// AnnouncementChange is the input for changing an announcement. Nil fields keep their values.
type AnnouncementChange struct {
	Title      *string
	Message    *string
	Level      *AnnouncementLevel
	ShownFrom  *time.Time
	ShownUntil *time.Time // the zero Time removes it
}

// Validate returns a *ValidationError with every field that is invalid for any announcement.
func (ch AnnouncementChange) Validate(now time.Time) error {
	return (&Announcement{Title: "valid", Level: AnnouncementInfo}).Apply(ch, now)
}

// Apply changes a. UpdatedAt changes if a field does. The error is a *ValidationError with every
// invalid field.
func (a *Announcement) Apply(ch AnnouncementChange, now time.Time) error {
	before := *a
	a.Title, a.Message, a.Level = *firstOf(ch.Title, &a.Title), *firstOf(ch.Message, &a.Message), *firstOf(ch.Level, &a.Level)
	a.ShownFrom, a.ShownUntil = *firstOf(ch.ShownFrom, &a.ShownFrom), *firstOf(ch.ShownUntil, &a.ShownUntil)
	if *a != before {
		a.UpdatedAt = Later(now, a.UpdatedAt)
	}
	return a.validate(now)
}

func (a Announcement) validate(now time.Time) error {
	var bad ValidationError
	CheckText(&bad, "title", a.Title, MaxTitleLength)
	CheckLength(&bad, "message", a.Message, MaxAnnouncementLength)
	if !slices.Contains(AnnouncementLevels, a.Level) {
		bad.Add("level", "must be one of: %s", joinValues(AnnouncementLevels))
	}
	const most = MaxMaintenanceLead
	for field, t := range map[string]time.Time{"shown_from": a.ShownFrom, "shown_until": a.ShownUntil} {
		if t.After(now.Add(most)) {
			bad.Add(field, "must be within two years")
		}
	}
	if !a.ShownUntil.IsZero() && !a.ShownUntil.After(a.ShownFrom) {
		bad.Add("shown_until", "must be after %s", Name("shown_from"))
	}
	return bad.Err()
}

// shownAnnouncements returns the announcements that are shown at now: warnings first, and then the latest
// first.
func shownAnnouncements(all []Announcement, now time.Time) []Announcement {
	shown := slices.DeleteFunc(slices.Clone(all), func(a Announcement) bool { return !a.Shown(now) })
	rank := func(a Announcement) int { return slices.Index(AnnouncementLevels, a.Level) }
	slices.SortFunc(shown, func(a, b Announcement) int {
		return cmp.Or(rank(b)-rank(a), b.ShownFrom.Compare(a.ShownFrom), cmp.Compare(b.ID, a.ID))
	})
	return shown
}

// NextAnnouncementChange returns the next instant after now at which the shown announcements
// change, or the zero Time.
func NextAnnouncementChange(all []Announcement, now time.Time) (next time.Time) {
	for _, a := range all {
		for _, t := range []time.Time{a.ShownFrom, a.ShownUntil} {
			if t.After(now) && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
	}
	return next
}

// AuditObject returns the form of an announcement in the audit log.
func (a Announcement) AuditObject() AuditObject {
	until := any(nil)
	if !a.ShownUntil.IsZero() {
		until = FormatTime(a.ShownUntil)
	}
	return AuditObject{Kind: ObjectAnnouncement, ID: a.ID, Name: a.Title, Fields: map[string]any{
		"title": a.Title, "message": a.Message, "level": a.Level, "shown_from": FormatTime(a.ShownFrom), "shown_until": until,
	}}
}
