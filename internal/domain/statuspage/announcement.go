package statuspage

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

// shownAnnouncements returns the announcements that are shown at now: warnings first, and then the latest first.
func shownAnnouncements(all []Announcement, now time.Time) []Announcement {
	shown := slices.DeleteFunc(slices.Clone(all), func(a Announcement) bool { return !a.Shown(now) })
	rank := func(a Announcement) int { return slices.Index(AnnouncementLevels, a.Level) }
	slices.SortFunc(shown, func(a, b Announcement) int {
		return cmp.Or(rank(b)-rank(a), b.ShownFrom.Compare(a.ShownFrom), cmp.Compare(b.ID, a.ID))
	})
	return shown
}

// NextAnnouncementChange returns the next instant after now at which the shown announcements change, or the zero Time.
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
