package page

import (
	"net/http"
	"strconv"
)

// beforeParam is the parameter of an address that asks for a part of a long
// timeline: the updates whose number is less.
const beforeParam = "before"

// partView leads from one part of a long timeline to the others.
type partView struct {
	Text   string // which part it is; "": the timeline has one part
	Newest string // address of the newest part; "": this is it
	Older  string // address of the next older part; "": there is none
}

// timelineSpan says which updates a part of a timeline shows.
type timelineSpan struct {
	before int // the part asked for; 0: the newest
	shown  int // updates on the page
	older  int // updates that are older than these
}

// part sets the title of a page with a timeline, and returns the links to the
// other parts. url is the address of the newest.
func (f *layout) part(title, url string, s timelineSpan) partView {
	if s.before == 0 && s.older == 0 {
		f.titled(title)
		return partView{}
	}
	l := f.At.lang
	v := partView{Text: l.T("timeline.part", "from", s.older+1, "to", s.older+s.shown)}
	if s.shown == 1 {
		v.Text = l.T("timeline.update", "n", s.older+1)
	}
	if s.older > 0 {
		path := f.Path
		if s.before > 0 {
			path = path[:len(path)-len(beforeQuery(s.before))]
		}
		v.Older = f.At.link(timelinePath(path, s.older+1))
	}
	if s.before == 0 {
		f.titled(title)
		return v
	}
	v.Newest = url
	f.titled(l.T("timeline.title", "title", title, "part", v.Text))
	return v
}

// timelinePath adds to the path of an incident or a maintenance which part of its
// timeline is asked for; 0 is the newest.
func timelinePath(path string, before int) string {
	if before == 0 {
		return path
	}
	return path + beforeQuery(before)
}

func beforeQuery(before int) string { return "?" + beforeParam + "=" + strconv.Itoa(before) }

// maxBefore is more than a timeline has updates: what people can add, and what
// the service adds by itself.
const maxBefore = 9_999

// beforeOf returns the part of a timeline that a request asks for; 0: the newest.
// It reports false for one that cannot be there: the number of an update is
// written in one way, so that each part has one address.
func beforeOf(r *http.Request) (before int, ok bool) {
	query := r.URL.Query()
	if !query.Has(beforeParam) {
		return 0, true
	}
	text := query.Get(beforeParam)
	before, err := strconv.Atoi(text)
	return before, err == nil && before > 1 && before <= maxBefore && strconv.Itoa(before) == text
}
