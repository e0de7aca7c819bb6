package notify

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/allswell/allswell"
)

const (
	mailBase   = "https://status.example.com"
	mailDomain = "status.acme.example"
	mailKey    = "0123456789abcdefghijABCDEFGHIJ00"
)

var (
	mailFrom  = mail.Address{Name: "Acme Status", Address: "status@example.com"}
	mailStart = time.Date(2026, 11, 21, 7, 48, 0, 0, time.UTC)
)

// mailNotice tells events; without any it is of another purpose.
func mailNotice(purpose allswell.DeliveryPurpose, events ...allswell.Event) allswell.Notification {
	return allswell.Notification{
		Delivery:   allswell.Delivery{ID: "dlv_0123456789abcdefghij", Purpose: purpose, Channel: allswell.ChannelEmail},
		Subscriber: allswell.Subscriber{ID: "sub_1", Channel: allswell.ChannelEmail, Target: "ann@example.org", Key: mailKey},
		Page:       allswell.Page{Slug: "acme", Name: "Acme", TimeZone: allswell.DefaultTimeZone}, Events: events,
	}
}

// mailEvent is what happened to an incident so many minutes after mailStart.
func mailEvent(minutes int, kind allswell.EventKind, incident, monitor string, data allswell.EventData) allswell.Event {
	data.Resolved = data.Resolved || data.State == allswell.IncidentResolved
	return allswell.Event{
		ID: "evt_1", Kind: kind, IncidentID: incident, MonitorID: monitor, Data: data,
		CreatedAt: mailStart.Add(time.Duration(minutes) * time.Minute),
	}
}

// mailOutage is a monitor that went down at a minute, and came back if it is
// not 0 at another one.
func mailOutage(incident, monitor string, down, up int) []allswell.Event {
	data := allswell.EventData{Title: monitor + " is down", Impact: allswell.ImpactMajor, State: allswell.IncidentInvestigating, Message: "No ping."}
	events := []allswell.Event{mailEvent(down, allswell.EventIncidentCreated, incident, monitor, data)}
	if up != 0 {
		data.State, data.Message = allswell.IncidentResolved, "A ping arrived."
		events = append(events, mailEvent(up, allswell.EventIncidentResolved, incident, monitor, data))
	}
	return events
}

// mailDatabase is the life of an incident that people wrote about.
func mailDatabase() []allswell.Event {
	data := allswell.EventData{Title: "Database <down>", Impact: allswell.ImpactCritical, State: allswell.IncidentInvestigating, Message: "Writes fail.\r\nReads & lists work."}
	created := mailEvent(0, allswell.EventIncidentCreated, "inc-1", "", data)
	data.Impact, data.State, data.Message = allswell.ImpactMajor, allswell.IncidentIdentified, "A full disk."
	updated := mailEvent(12, allswell.EventIncidentUpdated, "inc-1", "", data)
	data.State, data.Message = allswell.IncidentResolved, ""
	return []allswell.Event{created, updated, mailEvent(40, allswell.EventIncidentResolved, "inc-1", "", data)}
}

// mailMaintenance is what happened to a planned maintenance so many minutes after
// mailStart; update is the id of the entry in its timeline, or "".
func mailMaintenance(minutes int, kind allswell.EventKind, state allswell.MaintenanceState, update, message string) allswell.Event {
	return allswell.Event{
		ID: "evt_1", Kind: kind, MaintenanceID: "mnt_1", UpdateID: update,
		Data: allswell.EventData{Title: "Database upgrade", Message: message, Maintenance: &allswell.MaintenanceData{
			State: state, ScheduledFor: mailStart.Add(19 * time.Hour), ScheduledUntil: mailStart.Add(21 * time.Hour),
			Components: []allswell.ComponentName{{ID: "comp_1", Name: "API"}, {ID: "comp_2", Name: "Website"}},
		}},
		CreatedAt: mailStart.Add(time.Duration(minutes) * time.Minute),
	}
}

// mailUpgrade is the life of a planned maintenance.
func mailUpgrade() []allswell.Event {
	return []allswell.Event{
		mailMaintenance(0, allswell.EventMaintenanceScheduled, allswell.MaintenanceScheduled, "upd_1", "Writes wait for up to *a minute*."),
		mailMaintenance(60, allswell.EventMaintenanceReminder, allswell.MaintenanceScheduled, "", ""),
		mailMaintenance(1140, allswell.EventMaintenanceBegun, allswell.MaintenanceInProgress, "upd_2", "The maintenance has begun."),
		mailMaintenance(1200, allswell.EventMaintenanceUpdated, allswell.MaintenanceVerifying, "upd_3", "We look whether all is well."),
		mailMaintenance(1260, allswell.EventMaintenanceEnded, allswell.MaintenanceCompleted, "upd_4", "The maintenance is complete."),
	}
}

// parsedMail is a mail as its reader's client sees it.
type parsedMail struct {
	header     mail.Header
	subject    string
	text, html string
}

// parseMail reads a mail back and checks what holds for all of them.
func parseMail(t *testing.T, content []byte) parsedMail {
	t.Helper()
	for line := range bytes.SplitSeq(bytes.TrimSuffix(content, []byte("\r\n")), []byte("\r\n")) {
		if len(line) > 998 || bytes.ContainsAny(line, "\r\n\x00") || !isASCII(string(line)) {
			t.Fatalf("a line that SMTP does not take: %.200q", line)
		}
	}
	m, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("the mail cannot be read: %v\n%.2000s", err, content)
	}
	p := parsedMail{header: m.Header}
	for name, values := range m.Header {
		if len(values) != 1 {
			t.Errorf("%d fields %s", len(values), name)
		}
	}
	if p.subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Errorf("subject: %v", err)
	}
	media, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || media != "multipart/alternative" {
		t.Fatalf("media type %q, %v", media, err)
	}
	r := multipart.NewReader(m.Body, params["boundary"])
	for _, part := range []struct {
		media string
		into  *string
	}{{"text/plain; charset=utf-8", &p.text}, {"text/html; charset=utf-8", &p.html}} {
		got, err := r.NextRawPart()
		if err != nil {
			t.Fatalf("part %s: %v", part.media, err)
		}
		if got.Header.Get("Content-Type") != part.media || got.Header.Get("Content-Transfer-Encoding") != "quoted-printable" || len(got.Header) != 2 {
			t.Errorf("part %s: header %v", part.media, got.Header)
		}
		raw, err := io.ReadAll(quotedprintable.NewReader(got))
		if err != nil || !utf8.Valid(raw) {
			t.Fatalf("part %s: %v, UTF-8: %v", part.media, err, utf8.Valid(raw))
		}
		*part.into = strings.ReplaceAll(string(raw), "\r\n", "\n")
	}
	if _, err := r.NextRawPart(); err != io.EOF {
		t.Errorf("after the parts: %v", err)
	}
	return p
}

// composed composes a mail and reads it back.
func composed(t *testing.T, n allswell.Notification) parsedMail {
	t.Helper()
	e, err := compose(n, mailBase, mailFrom)
	if err != nil {
		t.Fatal(err)
	}
	if e.from != mailFrom.Address || e.to != n.Subscriber.Target {
		t.Errorf("envelope from %q to %q", e.from, e.to)
	}
	return parseMail(t, e.content)
}

// htmlWords returns the text that the HTML shows, and how often it has each
// element.
func htmlWords(t *testing.T, document string) (text string, elements map[string]int) {
	t.Helper()
	elements = make(map[string]int)
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(document))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				t.Fatal(z.Err())
			}
			return b.String(), elements
		case html.TextToken:
			b.Write(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			elements[token.Data]++
			for _, a := range token.Attr {
				ours := strings.HasPrefix(a.Val, mailBase+"/status/") || strings.HasPrefix(a.Val, "https://"+mailDomain)
				typed := slices.Contains(token.Attr, html.Attribute{Key: "rel", Val: "nofollow noopener noreferrer"})
				if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" && !ours && !typed {
					t.Errorf("<%s %s=%q>", token.Data, a.Key, a.Val)
				}
			}
		}
	}
}

func TestMailHeader(t *testing.T) {
	common := map[string]string{
		"From":                  `"Acme Status" <status@example.com>`,
		"To":                    "<ann@example.org>",
		"Message-Id":            "<dlv_0123456789abcdefghij@example.com>",
		"List-Id":               "<acme.example.com>",
		"List-Unsubscribe":      "<" + mailBase + "/status/acme/unsubscribe/" + mailKey + ">",
		"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		"Auto-Submitted":        "auto-generated",
		"Mime-Version":          "1.0",
		"Content-Type":          `multipart/alternative; boundary="=_dlv_0123456789abcdefghij"`,
	}
	for _, c := range []struct {
		n    allswell.Notification
		more map[string]string
	}{
		{mailNotice(allswell.PurposeConfirmation), map[string]string{"Subject": "[Acme] Please confirm your subscription"}},
		{mailNotice(allswell.PurposeLink), map[string]string{"Subject": "[Acme] The link to your subscription"}},
		{mailNotice(allswell.PurposeEvent, mailDatabase()[:1]...), map[string]string{
			"Subject":     "[Acme] Investigating: Database <down>",
			"In-Reply-To": "<c8dc1a447374d7908cd5399ca8eb8e05@example.com>",
			"References":  "<c8dc1a447374d7908cd5399ca8eb8e05@example.com>",
		}},
	} {
		t.Run(string(c.n.Delivery.Purpose), func(t *testing.T) {
			p := composed(t, c.n)
			if at, err := p.header.Date(); err != nil || time.Since(at) > time.Hour || time.Until(at) > time.Hour {
				t.Errorf("date %v, %v", at, err)
			}
			delete(p.header, "Date")
			want := maps.Clone(common)
			maps.Copy(want, c.more)
			got := make(map[string]string)
			for name := range p.header {
				got[name] = p.header.Get(name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMailThreads checks that the mails of one incident form a thread, as do those of a
// monitor's incidents, and that mails to two subscribers share none.
func TestMailThreads(t *testing.T) {
	references := func(subscriber string, events ...allswell.Event) []string {
		n := mailNotice(allswell.PurposeEvent, events...)
		n.Subscriber.ID = subscriber
		p := composed(t, n)
		ids := strings.Fields(p.header.Get("References"))
		if p.header.Get("In-Reply-To") != ids[len(ids)-1] {
			t.Errorf("in reply to %s, references %s", p.header.Get("In-Reply-To"), ids)
		}
		return ids
	}
	database := mailDatabase()
	down := mailOutage("inc-2", "Backup", 3, 9)
	again := mailOutage("inc-3", "Backup", 20, 0)
	human := mailEvent(5, allswell.EventIncidentUpdated, "inc-2", "", allswell.EventData{Title: "Backup is down", State: allswell.IncidentIdentified})

	first := references("sub_1", database[0])
	if later := references("sub_1", database[1:]...); !slices.Equal(first, later) {
		t.Errorf("one incident: %s, then %s", first, later)
	}
	if other := references("sub_2", database[0]); slices.Equal(first, other) {
		t.Errorf("two subscribers: %s", other)
	}
	monitor := references("sub_1", down[0])
	if got := references("sub_1", human); !slices.Equal(got, monitor[1:]) {
		t.Errorf("a human's update refers to %s, the incident was %s", got, monitor)
	}
	if got := references("sub_1", again...); len(got) != 2 || got[0] != monitor[0] || got[1] == monitor[1] {
		t.Errorf("the next outage refers to %s, the first was %s", got, monitor)
	}
	if got, want := references("sub_1", database[0], down[0]), append(first, monitor...); !slices.Equal(got, want) {
		t.Errorf("told together: %s, want %s", got, want)
	}
	var many []allswell.Event
	for i := range 60 {
		many = append(many, mailOutage(fmt.Sprint("inc-", i), fmt.Sprint("Job ", i), i, 0)...)
	}
	if got := references("sub_1", many...); len(got) != mailReferences {
		t.Errorf("%d references", len(got))
	}
}

func TestMailSubjects(t *testing.T) {
	join := func(lists ...[]allswell.Event) []allswell.Event { return slices.Concat(lists...) }
	database := mailDatabase()
	long := mailDatabase()[:1]
	long[0].Data.Title = strings.Repeat("Ärger ", 42)
	odd := mailDatabase()[:1]
	odd[0].Data.Title = "a\r\nBcc: eve@example.net\x00 \u202eb =?utf-8?q?=0A?="
	for _, c := range []struct {
		name, want string
		events     []allswell.Event
	}{
		{"created", "[Acme] Investigating: Database <down>", database[:1]},
		{"updated", "[Acme] Identified: Database <down>", database[:2]},
		{"resolved", "[Acme] Resolved: Database <down>", database},
		{"flapping", "[Acme] Resolved: Backup is down (3 outages)",
			join(mailOutage("a", "Backup", 0, 1), mailOutage("b", "Backup", 2, 3), mailOutage("c", "Backup", 4, 5))},
		{"down together", "[Acme] 2 monitors are down", join(mailOutage("a", "A", 0, 0), mailOutage("b", "B", 0, 0))},
		{"up together", "[Acme] 2 monitors are back up", join(mailOutage("a", "A", 0, 5), mailOutage("b", "B", 0, 5))},
		{"some up", "[Acme] 2 of 3 monitors are down, 1 back up",
			join(mailOutage("a", "A", 0, 0), mailOutage("b", "B", 0, 0), mailOutage("c", "C", 0, 5))},
		{"mixed", "[Acme] 2 incidents: A is down, Database <down>", join(database, mailOutage("a", "A", 50, 0))},
		{"long", "[Acme] Investigating: " + strings.Repeat("Ärger ", 24) + "Ärger…", long},
		{"odd", "[Acme] Investigating: a Bcc: eve@example.net b = ?utf-8?q?=0A?=", odd},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p := composed(t, mailNotice(allswell.PurposeEvent, c.events...)); p.subject != c.want {
				t.Errorf("subject %q, want %q", p.subject, c.want)
			}
		})
	}
}

// TestMailFrom checks that the display name is the page's if the operator set none.
func TestMailFrom(t *testing.T) {
	n := mailNotice(allswell.PurposeLink)
	n.Page.Name = "Ö\nBcc: eve@example.net"
	e, err := compose(n, mailBase, mail.Address{Address: "status@bücher.example"})
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Replace(e.content, []byte("bücher"), []byte("buecher"), 1) // in From, as typed
	p := parseMail(t, content)
	from, err := p.header.AddressList("From")
	if err != nil || len(from) != 1 || from[0].Name != "Ö Bcc: eve@example.net" {
		t.Errorf("from %v, %v", from, err)
	}
	if got := p.header.Get("Message-ID"); got != "<dlv_0123456789abcdefghij@xn--bcher-kva.example>" {
		t.Errorf("Message-ID %s", got)
	}
}

const mailFoot = `
-- 
You get this because you subscribed to the status of Acme:
https://status.example.com/status/acme

Change your subscription: https://status.example.com/status/acme/subscription/0123456789abcdefghijABCDEFGHIJ00
Unsubscribe: https://status.example.com/status/acme/unsubscribe/0123456789abcdefghijABCDEFGHIJ00
`

func TestMailText(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []allswell.Event
		want   string
	}{
		{"an incident", mailDatabase(), `Resolved: Database <down>
Major impact.

Resolved · 21 Nov 2026, 08:28 UTC

Identified · 21 Nov 2026, 08:00 UTC
A full disk.

Investigating · 21 Nov 2026, 07:48 UTC
Writes fail.
Reads & lists work.

https://status.example.com/status/acme/incidents/inc-1
`},
		{"a flapping monitor", slices.Concat(mailOutage("a", "Backup", 0, 2), mailOutage("b", "Backup", 4, 0)),
			`Investigating: Backup is down
Major impact.
Went down 2 times since 21 Nov 2026, 07:48 UTC.

Investigating · 21 Nov 2026, 07:52 UTC
No ping.

Resolved · 21 Nov 2026, 07:50 UTC
A ping arrived.

Investigating · 21 Nov 2026, 07:48 UTC
No ping.

https://status.example.com/status/acme/incidents/b
`},
		{"two monitors", slices.Concat(mailOutage("a", "A", 0, 0), mailOutage("b", "B", 1, 0)), `Investigating: B is down
Major impact.

Investigating · 21 Nov 2026, 07:49 UTC
No ping.

https://status.example.com/status/acme/incidents/b

----------------------------------------

Investigating: A is down
Major impact.

Investigating · 21 Nov 2026, 07:48 UTC
No ping.

https://status.example.com/status/acme/incidents/a
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := composed(t, mailNotice(allswell.PurposeEvent, c.events...))
			if diff := cmp.Diff(c.want+mailFoot, p.text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMailHTML(t *testing.T) {
	flapping := slices.Concat(mailOutage("a", "Backup", 0, 2), mailOutage("b", "Backup", 4, 0))
	p := composed(t, mailNotice(allswell.PurposeEvent, slices.Concat(flapping, mailDatabase())...))
	for _, want := range []string{
		"Database &lt;down&gt;", "Writes fail.<br>Reads &amp; lists work.", "Resolved &middot; Major impact",
		"Went down 2 times since 21 Nov 2026, 07:48 UTC.",
		`href="` + mailBase + `/status/acme/incidents/inc-1"`, `href="` + mailBase + `/status/acme/incidents/b"`,
		`href="` + mailBase + `/status/acme/subscription/` + mailKey + `"`,
		`href="` + mailBase + `/status/acme/unsubscribe/` + mailKey + `"`,
		`color:#0f6f46`, `content="light dark"`, "prefers-color-scheme: dark", "max-width:600px",
	} {
		if !strings.Contains(p.html, want) {
			t.Errorf("the HTML lacks %s", want)
		}
	}
	if strings.Contains(p.html, "ZgotmplZ") || strings.Contains(p.html, "url(") {
		t.Errorf("the HTML has what it should not have:\n%s", p.html)
	}
	htmlWords(t, p.html)
}

// TestMailQuestions checks that a confirmation mail contains nothing that the person who
// typed the address could choose.
func TestMailQuestions(t *testing.T) {
	for _, purpose := range []allswell.DeliveryPurpose{allswell.PurposeConfirmation, allswell.PurposeLink} {
		n := mailNotice(purpose)
		n.Subscriber.Target = "buy-now.evil@eve.example"
		n.Subscriber.Components = []string{"comp_evil"}
		p := composed(t, n)
		words, _ := htmlWords(t, p.html)
		for _, body := range []string{p.text, p.html} {
			if strings.Contains(body, "eve.example") || strings.Contains(body, "evil") {
				t.Errorf("%s shows what was typed:\n%s", purpose, body)
			}
		}
		manage := mailBase + "/status/acme/subscription/" + mailKey
		for _, body := range []string{p.text, words} {
			if !strings.Contains(body, manage) || !strings.Contains(body, "ignore this mail") || !strings.Contains(body, "status of Acme") {
				t.Errorf("%s lacks something:\n%s", purpose, body)
			}
		}
	}
}

// TestMailLimits checks that a long mail is cut, says so, and links to the page.
func TestMailLimits(t *testing.T) {
	var down []allswell.Event
	for i := range 210 {
		down = append(down, mailOutage(fmt.Sprint("inc-", i), fmt.Sprint("Job ", i), i, 0)...)
	}
	p := composed(t, mailNotice(allswell.PurposeEvent, down...))
	if p.subject != "[Acme] 210 monitors are down" || strings.Count(p.text, "No ping.") != mailThreads || !strings.Contains(p.text, "And 160 more on the page.") {
		t.Errorf("many threads: %q, %d told", p.subject, strings.Count(p.text, "No ping."))
	}
	if !strings.Contains(p.text, "Job 209 is down") || strings.Contains(p.text, "Job 0 is down") || !strings.Contains(p.html, "And 160 more on the page.") {
		t.Error("it is not the newest that are told")
	}
	var flapping []allswell.Event
	for i := range 40 {
		flapping = append(flapping, mailOutage(fmt.Sprint("inc-", i), "Backup", 2*i, 2*i+1)...)
	}
	p = composed(t, mailNotice(allswell.PurposeEvent, flapping...))
	if !strings.Contains(p.text, "Went down 40 times") || !strings.Contains(p.text, "30 earlier on the page.") || !strings.Contains(p.html, "30 earlier on the page.") {
		t.Errorf("many entries:\n%s", p.text)
	}
	updates := mailDatabase()
	for i := range updates {
		updates[i].Data.Message = strings.Repeat(string(rune('ä'+i)), allswell.MaxMessageLength)
	}
	p = composed(t, mailNotice(allswell.PurposeEvent, updates...))
	if n := strings.Count(p.text, "æ"); n != allswell.MaxMessageLength {
		t.Errorf("the newest message has %d of its characters", n)
	}
	if strings.Contains(p.text, "ä") || strings.Count(p.text, "(The rest is on the page.)") != 1 {
		t.Error("the messages together are not bounded")
	}
}

// TestMailBroken checks mails that no attempt could send.
func TestMailBroken(t *testing.T) {
	for _, target := range []string{
		"", "ann", "Ann <ann@example.org>", "ann@example.org, eve@example.net", "ann@example.org\r\nBcc: eve@example.net",
		"Ann@Example.org", "ann@example.org ", "ann\x00@example.org", `"a b"@example.org`, "änn@example.org",
		strings.Repeat("a", 65) + "@example.org",
	} {
		n := mailNotice(allswell.PurposeLink)
		n.Subscriber.Target = target
		if e, err := compose(n, mailBase, mailFrom); err == nil {
			t.Errorf("%q got a mail to %q", target, e.to)
		}
	}
	component := allswell.Event{Kind: allswell.EventComponentStatusChanged, ComponentID: "comp_1", Data: allswell.EventData{Component: "API"}}
	for name, n := range map[string]allswell.Notification{
		"no event":       mailNotice(allswell.PurposeEvent),
		"no mail's":      mailNotice(allswell.PurposeEvent, component),
		"unknown reason": mailNotice("advertisement"),
	} {
		if _, err := compose(n, mailBase, mailFrom); err == nil {
			t.Errorf("%s: composed", name)
		}
	}
}

// TestMailStable checks that a retry sends the same content except for the date.
func TestMailStable(t *testing.T) {
	content := func() string {
		e, err := compose(mailNotice(allswell.PurposeEvent, mailDatabase()...), mailBase, mailFrom)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(e.content), "\r\n")
		return rest
	}
	if diff := cmp.Diff(content(), content()); diff != "" {
		t.Error(diff)
	}
}

// TestMailTemplates checks that each template file belongs to a purpose, and that each
// part of the layout is used.
func TestMailTemplates(t *testing.T) {
	files, err := mailTemplates.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, f := range files {
		raw, err := mailTemplates.ReadFile("templates/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(raw)
		name, _, _ := strings.Cut(f.Name(), ".")
		switch purpose := allswell.DeliveryPurpose(name); purpose {
		case "layout":
		case allswell.PurposeEvent:
			composed(t, mailNotice(purpose, mailDatabase()...))
		default:
			composed(t, mailNotice(purpose))
		}
	}
	for _, part := range mailHTML.Templates() {
		if !strings.Contains(part.Name(), ".") && !strings.Contains(sources.String(), `{{template "`+part.Name()+`"`) {
			t.Errorf("%s is not used", part.Name())
		}
	}
}
