package view

import (
	"cmp"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// displayName is markdown.Line; a name without visible characters becomes U+FFFD.
func displayName(text string) string { return cmp.Or(markdown.Line(text), "\ufffd") }

// CleanNames applies markdown.Line to every name and title, in place.
func CleanNames(contents *statuspage.PageContents) {
	contents.Page.Name = displayName(contents.Page.Name)
	for i, link := range contents.Page.Footer {
		contents.Page.Footer[i].Label = displayName(link.Label)
	}
	for i, g := range contents.Groups {
		contents.Groups[i].Name = displayName(g.Name)
	}
	for i := range contents.Components {
		c := &contents.Components[i]
		c.Name = displayName(c.Name)
		if c.Description != nil {
			text := markdown.Clean(*c.Description)
			c.Description = &text
		}
	}
	for i, a := range contents.Announcements {
		contents.Announcements[i].Title = displayName(a.Title)
	}
	for i := range contents.Incidents {
		inc := &contents.Incidents[i]
		inc.Title = displayName(inc.Title)
		for j, a := range inc.Affected {
			inc.Affected[j].Name = displayName(a.Name)
		}
		for _, u := range inc.Updates {
			for j, a := range u.Affected {
				u.Affected[j].Name = displayName(a.Name)
			}
		}
	}
	for i := range contents.Maintenances {
		m := &contents.Maintenances[i]
		m.Title = displayName(m.Title)
		for j, c := range m.Components {
			m.Components[j].Name = displayName(c.Name)
		}
	}
}
