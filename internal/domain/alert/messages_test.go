package alert

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// itemOf returns an item about an alert that began ten minutes before t0, and that people have acknowledged or that has
// ended if kinds says so.
func itemOf(name string, event Event, kinds ...NoticeKind) Item {
	a := Alert{
		ID: "alt_" + name, OpenedAt: t0.Add(-10 * time.Minute),
		Subject: Subject{Event: event, Name: name, Severity: event.Severity(kernel.ImpactMajor)},
	}
	if slices.Contains(kinds, NoticeAcknowledged) {
		a.AcknowledgedAt, a.AcknowledgedBy = t0, "Ann"
	}
	if slices.Contains(kinds, NoticeResolved) {
		a.ResolvedAt = t0
	}
	return Item{a, kinds}
}

// TestTitles holds the words of every kind of notice, and of a duration below a second.
func TestTitles(t *testing.T) {
	for want, i := range map[string]Item{
		"Shop is down":       itemOf("Shop", MonitorDown, NoticeOpened),
		"Shop has a warning": itemOf("Shop", MonitorWarning, NoticeOpened),
		"Acknowledged by Ann: Shop is down": itemOf(
			"Shop", MonitorDown, NoticeOpened, NoticeAcknowledged,
		),
		"Shop is still down after 10 minutes":         itemOf("Shop", MonitorDown, NoticeRepeated),
		"Unacknowledged for 10 minutes: Shop is down": itemOf("Shop", MonitorDown, NoticeEscalated),
		"Shop is up again after 10 minutes": itemOf(
			"Shop", MonitorDown, NoticeRepeated, NoticeResolved,
		),
		"Shop was down for 10 minutes. Shop is up again": itemOf(
			"Shop", MonitorDown, NoticeOpened, NoticeResolved,
		),
		"Shop had a warning for 10 minutes. Shop has no warning any more": itemOf(
			"Shop", MonitorWarning, NoticeOpened, NoticeResolved,
		),
	} {
		if got := i.Title(t0); got != want {
			t.Errorf("Title with the notices %v = %q, want %q", i.Kinds, got, want)
		}
	}
	brief := itemOf("Shop", MonitorDown, NoticeOpened, NoticeResolved)
	brief.OpenedAt = t0.Add(-time.Millisecond)
	if got := brief.Title(t0); got != "Shop was down for 1 second. Shop is up again" {
		t.Errorf("Title of a brief alert = %q", got)
	}
	brief.OpenedAt = t0.Add(-62 * time.Second)
	if got := brief.Title(t0); got != "Shop was down for 1 minute. Shop is up again" {
		t.Errorf("%q", got)
	}
	for one, want := range map[string]string{
		"does not accept": "did not accept", "is down": "was down", "has begun": "had begun",
		"was interrupted": "was interrupted",
	} {
		if got := past(one); got != want {
			t.Errorf("past = %q, want %q", got, want)
		}
	}
}

// TestHeadlines holds the line about several alerts: groups by event and by whether they are over, and who acknowledged
// all.
func TestHeadlines(t *testing.T) {
	down, over := itemOf("Shop", MonitorDown, NoticeOpened), itemOf("Blog", MonitorDown, NoticeResolved)
	acknowledged, slow := itemOf("Mail", MonitorDown, NoticeAcknowledged), itemOf("Docs", MonitorSlow,
		NoticeAcknowledged)
	other := acknowledged
	other.AcknowledgedBy = "Bob"
	reopened := acknowledged
	reopened.Kinds = []NoticeKind{NoticeAcknowledged, NoticeRepeated}
	for _, c := range []struct {
		items []Item
		want  string
	}{
		{[]Item{down, down}, "2 monitors are down"},
		{[]Item{over, over}, "2 monitors are up again"},
		{[]Item{down, over}, "Shop is down, Blog is up again"},
		{[]Item{down, slow, down}, "2 monitors are down, Docs is slow"},
		{[]Item{acknowledged, acknowledged}, "Acknowledged by Ann: 2 monitors are down"},
		{[]Item{acknowledged, slow}, "Acknowledged by Ann: Mail is down, Docs is slow"},
		{[]Item{acknowledged, over}, "Acknowledged by Ann: Mail is down, Blog is up again"},
		{[]Item{acknowledged, down}, "2 monitors are down"},
		{[]Item{acknowledged, other}, "2 monitors are down"},
		{[]Item{acknowledged, reopened}, "2 monitors are down"},
		{[]Item{over, down, over, slow, down}, "2 monitors are up again, 2 monitors are down, Docs is slow"},
	} {
		if got := (Message{Items: c.items, At: t0}).Headline(); got != c.want {
			t.Errorf("Headline = %q, want %q", got, c.want)
		}
	}
	down.Reason, slow.Reason = "timeout", "took 2 s."
	lines, more := Message{Items: []Item{down, over, slow}, At: t0}.Lines()
	got := strings.Join(lines, "|")
	if more != 0 ||
		got != "Shop is down: timeout|Blog is up again after 10 minutes|Acknowledged by Ann: Docs is slow: took 2 s." {
		t.Errorf("Lines of three alerts = %q and %d more", got, more)
	}
	if lines, _ = (Message{Items: []Item{slow}}).Lines(); !slices.Equal(lines, []string{"Took 2 s."}) {
		t.Errorf("Lines of one alert = %q", lines)
	}
	if lines, _ = (Message{Items: []Item{over}}).Lines(); lines != nil {
		t.Errorf("Lines = %q without a reason", lines)
	}
}

// TestItems holds how notices become items: each alert and kind once, in the order of what is worst, without deleted
// alerts.
func TestItems(t *testing.T) {
	alerts := make(map[string]Alert)
	for _, i := range []Item{
		itemOf("Late", MonitorLate), itemOf("Shop", MonitorDown), itemOf("Blog", MonitorDown),
		itemOf("Ended", MonitorDown, NoticeResolved), itemOf("Calm", MonitorUp),
	} {
		alerts[i.ID] = i.Alert
	}
	var notices []Notice
	for _, id := range []string{"alt_Ended", "alt_Late", "alt_Calm", "alt_gone", "alt_Shop", "alt_Blog"} {
		for _, kind := range []NoticeKind{NoticeOpened, NoticeRepeated, NoticeOpened} {
			notices = append(notices, Notice{AlertID: id, Kind: kind})
		}
	}
	want := []string{"Blog", "Shop", "Late", "Calm", "Ended"}
	orders := [][]Notice{notices, slices.Clone(notices)}
	slices.Reverse(orders[1])
	for _, order := range orders {
		var got []string
		for _, i := range NewItems(order, alerts) {
			got = append(got, i.Name)
			slices.Sort(i.Kinds)
			if !slices.Equal(i.Kinds, []NoticeKind{NoticeOpened, NoticeRepeated}) || i.ID != "alt_"+i.Name {
				t.Errorf("NewItems made the item %+v", i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("order of the items: %q, want %q", got, want)
		}
	}
	var items []Item
	for _, severity := range append(slices.Clone(kernel.Impacts), kernel.ImpactMinor) {
		items = append(items, Item{Alert: Alert{Subject: Subject{Severity: severity}}})
	}
	for n, want := range append([]kernel.Impact{kernel.ImpactNone}, kernel.Impacts...) {
		if got := (Message{Items: items[:n]}).Severity(); got != want {
			t.Errorf("Severity of %d items = %s, want %s", n, got, want)
		}
	}
	if got := (Message{Items: items}).Severity(); got != kernel.ImpactCritical {
		t.Errorf("the worst is %s", got)
	}
}

// TestThreads holds what a thread's alerts make of a message: its phase, its buttons, whether the first message is
// outdated, and what takes its place.
func TestThreads(t *testing.T) {
	links := Links{Alerts: "https://a.example" + Path, Acknowledge: "https://a.example" + LinkPath}
	opened, known, over := itemOf("Shop", MonitorDown, NoticeOpened), itemOf("Mail", MonitorDown, NoticeAcknowledged),
		itemOf("Blog", MonitorDown, NoticeResolved)
	details := Button{"Details", links.Alerts + "/alt_Shop"}
	both := []Button{{"Acknowledge", links.Acknowledge}, details}
	for _, c := range []struct {
		thread  *Thread
		phase   Phase
		buttons []Button
	}{
		{nil, PhaseTrigger, both},
		{&Thread{Open: 1, Known: 1}, PhaseTrigger, both},
		{&Thread{Known: 1}, PhaseAcknowledge, both[1:]},
		{&Thread{}, PhaseResolve, both[1:]},
	} {
		m := Message{Thread: c.thread, Items: []Item{opened}, Links: links}
		if got := m.Buttons(); m.Phase() != c.phase || !slices.Equal(got, c.buttons) {
			t.Errorf("thread %+v: phase %s, buttons %v", c.thread, m.Phase(), got)
		}
		for _, item := range []Item{opened, itemOf("Shop", MonitorDown, NoticeRepeated), known, over} {
			m.Items = []Item{itemOf("Other", MonitorDown, NoticeEscalated), item}
			want := c.thread != nil && (item.Name == "Mail" || item.Name == "Blog")
			if got := m.Outdates(); got != want {
				t.Errorf("%+v, %v: outdates the first message: %v", c.thread, item.Kinds, got)
			}
			if c.thread != nil {
				first := *c.thread
				first.First = true
				if m.Thread = &first; m.Outdates() {
					t.Errorf("%+v: the first message outdates itself", c.thread)
				}
				m.Thread = c.thread
			}
		}
	}
	m := Message{Items: []Item{opened}, Links: links, At: t0}
	if got := m.Current(); len(got.Items) != 1 || got.Items[0].Kinds[0] != NoticeOpened {
		t.Errorf("a message without a thread: %+v", got)
	}
	m.Thread = &Thread{Alerts: []Alert{opened.Alert, known.Alert, over.Alert}, Words: Words{Title: "T"}}
	var kinds []NoticeKind
	for _, i := range m.Current().Items {
		kinds = append(kinds, i.Kinds...)
	}
	want := []NoticeKind{NoticeAcknowledged, NoticeOpened, NoticeResolved}
	if !slices.Equal(kinds, want) || m.Current().Words.Title != "T" {
		t.Errorf("kinds of the current message: %v, want %v of %+v", kinds, want, m.Current())
	}
	m.Items = []Item{itemOf("Test", ChannelTest, NoticeOpened)}
	if got := m.Details(); got != links.Alerts {
		t.Errorf("the details of a test: %q", got)
	}
}

// TestTexts holds the plain text of a message and where it is cut, which is never in its links.
func TestTexts(t *testing.T) {
	m := exampleMessage()
	const links = "\nAcknowledge: https://status.example.com/admin/alert-link\nDetails: " +
		"https://status.example.com/admin/alerts"
	whole := "2 monitors are down\nNightly backup is down: connection refused\nShop is down: connection refused"
	full := len([]rune(whole + links))
	for limit, want := range map[int]string{
		full: whole + links, full - 1: whole[:len(whole)-2] + "…" + links, 10: "2 monitors are down…" + links,
	} {
		if got := m.Text(limit); got != want {
			t.Errorf("Text of at most %d characters = %q, want %q", limit, got, want)
		}
	}
	m.Items = slices.Repeat(m.Items[:1], MaxLines+1)
	if got := m.WithoutLinks().Text(10000); !strings.HasSuffix(got, "refused\nand 1 more") {
		t.Errorf("Text of a long message = %q", got)
	}
}

// TestTemplateFields holds what each field of a message and of an alert is in a template.
func TestTemplateFields(t *testing.T) {
	m := Message{
		Thread: &Thread{Known: 1}, At: t0,
		Links: Links{Alerts: "https://a.example", Acknowledge: "https://a.example/ack"},
	}
	i := itemOf("Shop", MonitorDown, NoticeAcknowledged)
	i.PageSlug, i.MonitorSlug, i.Tags, i.Reason = "acme", "shop", []string{"db", "web"}, "timeout"
	m.Items = []Item{i}
	const ofAlert = "{{.Title}}|{{.Name}}|{{.Event}}|{{.State}}|{{.Severity}}|{{.Reason}}|{{.Page}}|{{.Monitor}}|{{.AcknowledgedBy}}|" +
		`{{join .Tags ", "}}|{{.OpenedAt}}|{{.ResolvedAt}}|{{.Lasted}}`
	makes := func(template, want string) {
		t.Helper()
		w, err := (Channel{Name: "Ops", Templates: Templates{TextTemplate: template}}).Words(m)
		if err != nil || w.Text != want {
			t.Errorf("text of a template = %q, want %q: %v", w.Text, want, err)
		}
	}
	makes("{{.Title}}|{{.Text}}|{{.Phase}}|{{.Severity}}|{{.Channel}}|{{.Count}}|{{.More}}|{{.AcknowledgeURL}}|{{.DetailsURL}}",
		"Acknowledged by Ann: Shop is "+
			"down|Timeout.|acknowledge|major|Ops|1|0|https://a.example/ack|https://a.example/alt_Shop")
	makes("{{range .Alerts}}"+ofAlert+"{{end}}",
		"Acknowledged by Ann: Shop is down|Shop|monitor.down|acknowledged|major|timeout|acme|shop|Ann|db, "+
			"web|2026-03-01 11:50:00 UTC||10 minutes")
	m.Items[0].ResolvedAt = t0.Add(-time.Minute)
	makes("{{range .Alerts}}{{.State}}|{{.ResolvedAt}}|{{.Lasted}}{{end}}",
		"resolved|2026-03-01 11:59:00 UTC|9 minutes")
	m.Items = slices.Repeat(m.Items, MaxLines+2)
	makes("{{len .Alerts}} of {{.Count}}, {{.More}} more", "20 of 22, 2 more")
}
