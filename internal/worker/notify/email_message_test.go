package notify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/google/go-cmp/cmp"
)

const mailFoot = `
-- 
You're receiving this because you subscribed to Acme status updates:
https://status.example.com/status/acme

Manage subscription: https://status.example.com/status/acme/subscription/0123456789abcdefghijABCDEFGHIJ00
Unsubscribe: https://status.example.com/status/acme/unsubscribe/0123456789abcdefghijABCDEFGHIJ00
`

// mailTexts are the texts of mails about incidents.
var mailTexts = []struct {
	name   string
	events []audience.Event
	want   string
}{
	{"an incident", mailDatabase(), `Resolved: Database <down>
Major impact.

Resolved · 21 Nov 2026, 08:28 UTC
This incident has been resolved.

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
	{"two monitors", slices.Concat(mailOutage("a", "A", 0, 0), mailOutage("b", "B", 1, 0)),
		`Investigating: B is down
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
}

func TestMailText(t *testing.T) {
	for _, c := range mailTexts {
		t.Run(c.name, func(t *testing.T) {
			p := composed(t, mailNotification(audience.PurposeEvent, c.events...))
			if diff := cmp.Diff(c.want+mailFoot, p.text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMailHTML(t *testing.T) {
	flapping := slices.Concat(mailOutage("a", "Backup", 0, 2), mailOutage("b", "Backup", 4, 0))
	p := composed(t, mailNotification(audience.PurposeEvent, slices.Concat(flapping, mailDatabase())...))
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
		t.Errorf("the HTML has an unsafe value:\n%s", p.html)
	}
	htmlWords(t, p.html)
}

// TestMailAppearance checks the accent and the logos of mails.
func TestMailAppearance(t *testing.T) {
	const look = mailBase + "/status/acme/look/"
	for _, c := range []struct {
		page         statuspage.Page
		want, absent []string
	}{
		{statuspage.Page{}, []string{">Acme</a>", "a.link { color: #9dc3ff !important; }"},
			[]string{"<img", "border-top:4px", ".top {"}},
		{statuspage.Page{Accent: "#7a1fa2"},
			[]string{
				"background-color:#7a1fa2;border-radius:8px;color:#ffffff;", "border-top:4px solid #7a1fa2;",
				`style="color:#7a1fa2;">Acme</a>`, "  .top { border-color: #",
			},
			[]string{"<img", "#1b4f9c"}},
		// too light for white text
		{statuspage.Page{Accent: "#ffee00"}, []string{"a.button { background-color: #ffee00 !important; color: #"},
			[]string{"background-color:#ffee00"}},
		{statuspage.Page{Logo: "0123456789abcdef.png"},
			[]string{
				`<img class="light-logo" src="` + look + `0123456789abcdef.png" alt="Acme"`,
				".light-logo { padding: 8px",
			},
			[]string{`class="dark-logo"`, ">Acme</a></td>"}},
		{statuspage.Page{Logo: "0123456789abcdef.png", LogoDark: "fedcba9876543210.webp"},
			[]string{`src="` + look + `fedcba9876543210.webp"`, ".light-logo { display: none"},
			[]string{".light-logo { padding"}},
		// mail programs do not show SVG
		{statuspage.Page{Logo: "0123456789abcdef.svg", LogoDark: "fedcba9876543210.png"}, []string{">Acme</a>"},
			[]string{"<img"}},
	} {
		for _, purpose := range []audience.DeliveryPurpose{audience.PurposeConfirmation, audience.PurposeEvent} {
			n := mailNotification(purpose, mailDatabase()...)
			n.Page.Accent, n.Page.Logo, n.Page.LogoDark = c.page.Accent, c.page.Logo, c.page.LogoDark
			p := composed(t, n)
			htmlWords(t, p.html)
			for _, want := range c.want {
				button := strings.Contains(want, "border-radius:8px")
				if !strings.Contains(p.html, want) && (!button || purpose == audience.PurposeConfirmation) {
					t.Errorf("%+v: %s: the HTML lacks %s:\n%s", c.page, purpose, want, p.html)
				}
			}
			for _, absent := range c.absent {
				if strings.Contains(p.html, absent) {
					t.Errorf("%+v: %s: the HTML has %s", c.page, purpose, absent)
				}
			}
		}
	}
}

// TestConfirmationSaysWhoAddedTheAddress checks that the mail names the page's operator only if
// the operator added the address.
func TestConfirmationSaysWhoAddedTheAddress(t *testing.T) {
	for invited, want := range map[bool]string{
		true:  "The operator of the Acme status page added this address",
		false: "asked for updates about incidents and maintenance of Acme",
	} {
		n := mailNotification(audience.PurposeConfirmation)
		n.Subscriber.AddedByOperator = invited
		p := composed(t, n)
		words, _ := htmlWords(t, p.html)
		for _, body := range []string{
			strings.Join(strings.Fields(p.text), " "), strings.Join(strings.Fields(words), " "),
		} {
			if strings.Contains(body, "operator") != invited || !strings.Contains(body, "ignore this email") {
				t.Errorf("added by the operator: %t\n%s", invited, body)
			}
		}
		if body := strings.Join(strings.Fields(p.text), " "); !strings.Contains(body, want) {
			t.Errorf("%s\nlacks %q", body, want)
		}
	}
}

// TestMailQuestions checks that a confirmation mail contains no text that was entered with
// the address.
func TestMailQuestions(t *testing.T) {
	for _, purpose := range []audience.DeliveryPurpose{audience.PurposeConfirmation, audience.PurposeLink} {
		n := mailNotification(purpose)
		n.Subscriber.Target = "buy-now.evil@eve.example"
		n.Subscriber.Components = []string{"comp_evil"}
		p := composed(t, n)
		words, _ := htmlWords(t, p.html)
		for _, body := range []string{p.text, p.html} {
			if strings.Contains(body, "eve.example") || strings.Contains(body, "evil") {
				t.Errorf("%s contains the entered text:\n%s", purpose, body)
			}
		}
		manage := mailBase + "/status/acme/subscription/" + mailKey
		for _, body := range []string{p.text, words} {
			if !strings.Contains(body, manage) || !strings.Contains(body, "ignore this email") ||
				!strings.Contains(body, "Acme status") {
				t.Errorf("%s lacks the link, the advice or the page:\n%s", purpose, body)
			}
		}
	}
}

// TestMailLimits checks that a long mail is shortened, says so, and links to the page.
func TestMailLimits(t *testing.T) {
	var down []audience.Event
	for i := range 210 {
		down = append(down, mailOutage(fmt.Sprint("inc-", i), fmt.Sprint("Job ", i), i, 0)...)
	}
	p := composed(t, mailNotification(audience.PurposeEvent, down...))
	if p.subject != "[Acme] 210 monitors are down" || strings.Count(p.text, "No ping.") != mailThreads ||
		!strings.Contains(p.text, "And 160 more on the page.") {
		t.Errorf("many threads: %q, %d reported", p.subject, strings.Count(p.text, "No ping."))
	}
	if !strings.Contains(p.text, "Job 209 is down") || strings.Contains(p.text, "Job 0 is down") ||
		!strings.Contains(p.html, "And 160 more on the page.") {
		t.Error("the newest are not reported")
	}
	var flapping []audience.Event
	for i := range 40 {
		flapping = append(flapping, mailOutage(fmt.Sprint("inc-", i), "Backup", 2*i, 2*i+1)...)
	}
	p = composed(t, mailNotification(audience.PurposeEvent, flapping...))
	if !strings.Contains(p.text, "Went down 40 times") || !strings.Contains(p.text, "30 earlier on the page.") ||
		!strings.Contains(p.html, "30 earlier on the page.") {
		t.Errorf("many entries:\n%s", p.text)
	}
	updates := mailDatabase()
	for i := range updates {
		updates[i].Data.Message = strings.Repeat(string(rune('ä'+i)), kernel.MaxMessageLength)
	}
	p = composed(t, mailNotification(audience.PurposeEvent, updates...))
	if n := strings.Count(p.text, "æ"); n != kernel.MaxMessageLength {
		t.Errorf("the newest message has %d of its characters", n)
	}
	if strings.Contains(p.text, "ä") || strings.Count(p.text, "(The rest is on the page.)") != 1 {
		t.Error("the total length of the messages is not limited")
	}
}

// TestMailBroken checks notifications that cannot become a mail.
func TestMailBroken(t *testing.T) {
	for _, target := range []string{
		"", "ann", "Ann <ann@example.org>", "ann@example.org, eve@example.net",
		"ann@example.org\r\nBcc: eve@example.net",
		"Ann@Example.org", "ann@example.org ", "ann\x00@example.org", `"a b"@example.org`, "änn@example.org",
		strings.Repeat("a", 65) + "@example.org",
	} {
		n := mailNotification(audience.PurposeLink)
		n.Subscriber.Target = target
		if e, err := composeFrom(n, mailFrom); err == nil {
			t.Errorf("%q: a mail to %q was composed", target, e.to)
		}
	}
	component := audience.Event{
		Kind: statuspage.EventComponentStatusChanged, ComponentID: "comp_1",
		Data: audience.EventData{Component: "API"},
	}
	for name, n := range map[string]audience.Notification{
		"no event":       mailNotification(audience.PurposeEvent),
		"no mail event":  mailNotification(audience.PurposeEvent, component),
		"unknown reason": mailNotification("advertisement"),
	} {
		if _, err := composeFrom(n, mailFrom); err == nil {
			t.Errorf("%s: composed", name)
		}
	}
}

// TestMailStable checks that a retry sends the same content except for the date.
func TestMailStable(t *testing.T) {
	content := func() string {
		e, err := composeFrom(mailNotification(audience.PurposeEvent, mailDatabase()...), mailFrom)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(e.content), "\r\n")
		return rest
	}
	if diff := cmp.Diff(content(), content()); diff != "" {
		t.Errorf("the same mail, composed twice:\n%s", diff)
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
		switch purpose := audience.DeliveryPurpose(name); purpose {
		case "layout":
		case audience.PurposeEvent:
			composed(t, mailNotification(purpose, mailDatabase()...))
		default:
			composed(t, mailNotification(purpose))
		}
	}
	for _, part := range mailHTML().Templates() {
		if !strings.Contains(part.Name(), ".") && !strings.Contains(sources.String(), `{{template "`+part.Name()+`"`) {
			t.Errorf("%s is not used", part.Name())
		}
	}
}
