package view

import "strconv"

// BeforeParam is the query parameter that asks for a part of a long timeline: the updates with lower numbers.
const BeforeParam = "before"

// partView has the links from one part of a long timeline to the others.
type partView struct {
	Text   string // name of the part; "": the timeline has one part
	Newest string // URL of the newest part; "": this is the newest
	Older  string // URL of the next older part; "": there is none
}

// timelineSpan is the range of updates that a part of a timeline shows.
type timelineSpan struct {
	before int // the part asked for; 0: the newest
	shown  int // number of updates on the page
	older  int // number of older updates
}

// part sets the title of a page with a timeline, and returns the links to the other
// parts. url is the URL of the newest part.
func (l *Layout) part(title, url string, s timelineSpan) partView {
	if s.before == 0 && s.older == 0 {
		l.setTitle(title)
		return partView{}
	}
	v := partView{Text: l.At.lang.T("timeline.part", "from", s.older+1, "to", s.older+s.shown)}
	if s.shown == 1 {
		v.Text = l.At.lang.T("timeline.update", "n", s.older+1)
	}
	if s.older > 0 {
		path := l.Path
		if s.before > 0 {
			path = path[:len(path)-len(beforeQuery(s.before))]
		}
		v.Older = l.At.link(timelinePath(path, s.older+1))
	}
	if s.before == 0 {
		l.setTitle(title)
		return v
	}
	v.Newest = url
	l.setTitle(l.At.lang.T("timeline.title", "title", title, "part", v.Text))
	return v
}

// timelinePath adds the part of the timeline to the path of an incident or a maintenance; 0 is the newest part.
func timelinePath(path string, before int) string {
	if before == 0 {
		return path
	}
	return path + beforeQuery(before)
}

func beforeQuery(before int) string { return "?" + BeforeParam + "=" + strconv.Itoa(before) }
