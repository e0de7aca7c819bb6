package page

import (
	"cmp"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/markdown"
)

// nameOf is markdown.Line for a name or a title that may have nothing to show.
func nameOf(text string) string { return cmp.Or(markdown.Line(text), "\ufffd") }

// clean makes every name and title of what was loaded fit to be shown beside
// others: see markdown.Line. It changes contents in place.
func clean(contents *allswell.PageContents) {
	contents.Page.Name = nameOf(contents.Page.Name)
	for i, link := range contents.Page.Footer {
		contents.Page.Footer[i].Label = nameOf(link.Label)
	}
	for i, g := range contents.Groups {
		contents.Groups[i].Name = nameOf(g.Name)
	}
	for i := range contents.Components {
		c := &contents.Components[i]
		c.Name = nameOf(c.Name)
		if c.Description != nil {
			text := markdown.Clean(*c.Description)
			c.Description = &text
		}
	}
	for i := range contents.Incidents {
		inc := &contents.Incidents[i]
		inc.Title = nameOf(inc.Title)
		for j, a := range inc.Affected {
			inc.Affected[j].Name = nameOf(a.Name)
		}
		for _, u := range inc.Updates {
			for j, a := range u.Affected {
				u.Affected[j].Name = nameOf(a.Name)
			}
		}
	}
	for i := range contents.Maintenances {
		m := &contents.Maintenances[i]
		m.Title = nameOf(m.Title)
		for j, c := range m.Components {
			m.Components[j].Name = nameOf(c.Name)
		}
	}
}
