package feed

import (
	"reflect"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown/markdowntest"
	"github.com/allswell/allswell/test/nodeclient"
)

const feedReader = nodeclient.ReadStdin + `
const Parser = require("rss-parser");
async function main(feeds) {
  const out = [];
  for (const text of feeds) {
    const feed = await new Parser().parseString(text);
    out.push({ title: feed.title, link: feed.link, self: feed.feedUrl, items: feed.items.map((i) => ({
      id: i.id || i.guid, title: i.title, link: i.link, date: i.isoDate, html: i["content:encoded"] || i.content,
    })) });
  }
  console.log(JSON.stringify(out));
}
`

// TestFeedsInJavaScript parses both formats, with malicious texts, with a widely used feed parser.
func TestFeedsInJavaScript(t *testing.T) {
	type item struct{ ID, Title, Link, Date, HTML string }
	type found struct {
		Title, Link, Self string
		Items             []item
	}
	var feeds []string
	var want []found
	for i, s := range markdowntest.Seeds {
		f := feedOf(t, newsPage(s, markdowntest.Seeds[(i+1)%len(markdowntest.Seeds)], "Acme"), "")
		for name, write := range map[string]func() ([]byte, error){AtomName: f.Atom, RSSName: f.RSS} {
			body, err := write()
			if err != nil {
				t.Fatal(err)
			}
			w := found{Title: f.title, Link: f.home, Self: f.self + name}
			for _, e := range f.entries {
				w.Items = append(w.Items, item{e.id, e.title, e.link, kernel.FormatTime(e.published), e.content})
			}
			feeds, want = append(feeds, string(body)), append(want, w)
		}
	}
	var got []found
	nodeclient.Run(t, "rss-parser", feedReader, feeds, &got)
	if len(got) != len(want) {
		t.Fatalf("%d feeds, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("read\n%#v\nwant\n%#v", got[i], want[i])
		}
	}
}

const calendarReader = nodeclient.ReadStdin + `
const load = require("ical.js");
const ICAL = load.default || load;
function main(calendars) {
  console.log(JSON.stringify(calendars.map((text) => {
    const calendar = new ICAL.Component(ICAL.parse(text));
    return { name: calendar.getFirstPropertyValue("name"), events: calendar.getAllSubcomponents("vevent").map((c) => {
      const e = new ICAL.Event(c);
      return {
        id: e.uid, title: e.summary, text: e.description, url: c.getFirstPropertyValue("url"), status: c.getFirstPropertyValue("status"),
        from: e.startDate.toJSDate().toISOString(), to: e.endDate.toJSDate().toISOString(), sequence: e.sequence,
      };
    }) };
  })));
}
`

// TestCalendarInJavaScript parses the calendar with a widely used parser.
func TestCalendarInJavaScript(t *testing.T) {
	type event struct {
		ID, Title, Text, URL, Status, From, To string
		Sequence                               int
	}
	type found struct {
		Name   string
		Events []event
	}
	var calendars []string
	var want []found
	for i, s := range markdowntest.Seeds {
		p := newsPage(s, markdowntest.Seeds[(i+1)%len(markdowntest.Seeds)], "Lamps, all")
		p.Page.Name = "Acme" // the parser does not unescape the names of calendars
		if i == 0 {
			p.Maintenances = nil
		}
		w := found{Name: "Scheduled maintenance of Acme", Events: []event{}}
		for _, m := range p.Maintenances {
			w.Events = append(w.Events, event{
				m.ID + "@allswell", markdowntest.Line(m.Title),
				describe(i18n.Or(p.Page.Language), p.Page.Location(), m, maxDescription),
				newsBase + "/maintenances/" + m.ID, "CONFIRMED",
				"2020-11-28T15:04:05.000Z", "2020-11-28T17:04:05.000Z", 1800,
			})
		}
		calendars, want = append(calendars, string(Calendar(p, newsBase))), append(want, w)
	}
	var got []found
	nodeclient.Run(t, "ical.js", calendarReader, calendars, &got)
	if len(got) != len(want) {
		t.Fatalf("%d calendars, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("read\n%#v\nwant\n%#v", got[i], want[i])
		}
	}
}
