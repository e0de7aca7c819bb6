package notify

import (
	"maps"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown"
	"golang.org/x/net/html"
)

// messageAttributes are the attributes that styled adds to messages.
var messageAttributes = []string{"class", "style"}

// readMessages returns the messages in the HTML of a mail without their styles, and the
// number of the elements around them by name.
func readMessages(t *testing.T, document string) (messages []string, frame map[string]int) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	frame = make(map[string]int)
	inside := make(map[*html.Node]bool)
	for n := range doc.Descendants() {
		isMessage := n.Data == "div" && slices.Contains(n.Attr, html.Attribute{Key: "dir", Val: "auto"})
		inside[n] = isMessage || inside[n.Parent]
		switch {
		case isMessage:
			messages = append(messages, bareMessage(t, n))
		case !inside[n] && n.Type == html.ElementNode:
			frame[n.Data]++
		}
	}
	return messages, frame
}

// bareMessage returns the HTML of a message without its styles.
func bareMessage(t *testing.T, message *html.Node) string {
	t.Helper()
	for n := range message.Descendants() {
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
			if a.Key == "style" && strings.ContainsAny(a.Val, "()@\\") {
				t.Errorf("<%s style=%q>", n.Data, a.Val)
			}
			return slices.Contains(messageAttributes, a.Key)
		})
	}
	var b strings.Builder
	for c := message.FirstChild; c != nil; c = c.NextSibling {
		if err := html.Render(&b, c); err != nil {
			t.Fatal(err)
		}
	}
	return strings.NewReplacer("<br/>", "<br>", "<hr/>", "<hr>").Replace(b.String())
}

// TestMailMessages checks that Markdown is rendered in a mail as on the page, and that
// plain text is unchanged.
func TestMailMessages(t *testing.T) {
	for _, c := range []struct{ name, typed, text, html string }{
		{"plain", "One.\r\nTwo & <b>three</b>.\n\nFour.", "One.\nTwo & <b>three</b>.\n\nFour.",
			`<p style="margin:0;">One.<br>Two &amp; &lt;b&gt;three&lt;/b&gt;.</p><p style="margin:10px 0 ` +
				`0;">Four.</p>`},
		{"a link", "See **[the plan](https://x.example/a?b=c&d)**.", "See the plan (https://x.example/a?b=c&d).",
			`<p style="margin:0;">See <strong><a class="link" style="color:#1b4f9c;" ` +
				`href="https://x.example/a?b=c&amp;d" rel="nofollow noopener noreferrer">the plan</a></strong>.</p>`},
		{"no link", "[a](javascript:alert(1))", "[a](javascript:alert(1))",
			`<p style="margin:0;">[a](javascript:alert(1))</p>`},
		{"a list", "- a\n- b\n\n3. c", "- a\n- b\n\n3. c",
			`<ul style="margin:6px 0 0;padding:0 24px;"><li>a</li><li>b</li></ul><ol style="margin:6px 0 0;padding:0 ` +
				`24px;" start="3"><li>c</li></ol>`},
		{"a wide list", "- a\n\n  b", "- a\n\n  b",
			`<ul style="margin:6px 0 0;padding:0 24px;"><li><p style="margin:0;">a</p><p style="margin:10px 0 ` +
				`0;">b</p></li></ul>`},
		{"code", "`<p>`\n```\n<code>\n```", "<p>\n\n<code>",
			`<p style="margin:0;"><code class="code" style="padding:1px 4px;` + codeStyle + `">&lt;p&gt;</code></p>` +
				`<pre class="code" style="margin:10px 0 0;padding:10px 12px;` + codeStyle +
				`line-height:1.5;white-space:pre-wrap;direction:ltr;text-align:left;"><code>&lt;code&gt;
</code></pre>`},
		{"a quotation", "> a\n\n---", "> a\n\n---",
			`<blockquote class="quote" style="margin:10px 0 0;padding:0 12px;border-left:3px solid ` +
				`#c3cad3;color:#57606b;">` + `<p style="margin:0;">a</p></blockquote>` +
				`<hr class="line" style="margin:14px 0 4px;border:0;border-top:1px solid #e1e5ea;">`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := mailDatabase()[0]
			e.Data.Message = c.typed
			p := composed(t, mailNotification(audience.PurposeEvent, e))
			if want := "07:48 UTC\n" + c.text + "\n\nhttps://"; !strings.Contains(p.text, want) {
				t.Errorf("the text lacks %q:\n%s", want, p.text)
			}
			if !strings.Contains(p.html, `white-space:pre-wrap;text-align:start;">`+c.html+"</div>") {
				t.Errorf("the HTML lacks %s:\n%s", c.html, p.html)
			}
			messages, _ := readMessages(t, p.html)
			if want := string(markdown.HTML(c.typed)); len(messages) != 1 || messages[0] != want {
				t.Errorf("messages %q, want %q", messages, want)
			}
		})
	}
}

// TestMailOfMarkup checks that a message that consists of markup does not make the mail
// too large for servers.
func TestMailOfMarkup(t *testing.T) {
	for _, unit := range []string{
		"`a`b", ">\n\n", "-\n*\n", "- ", "> ", "[a](http://b)", "***a***", "```\na\n```\n", "a@b.cd ", "---\n",
	} {
		events := mailDatabase()
		for i := range events {
			events[i].Data.Message = strings.Repeat(unit, kernel.MaxMessageLength/len(unit))
		}
		e, err := composeFrom(mailNotification(audience.PurposeEvent, events...), mailFrom)
		if err != nil || len(e.content) > 5<<20 {
			t.Errorf("%q: %d bytes, %v", unit, len(e.content), err)
		}
		parseMail(t, e.content)
	}
}

func FuzzMail(f *testing.F) {
	f.Add("Database is down", "Acme", "API", "We are on it.\nSoon more.", "ann@example.org")
	f.Add("a\r\nBcc: eve@example.net\r\n\r\nhi", "\"<x>\"\r\n", "c\x00", "\r\n.\r\nMAIL FROM:<eve@example.net>",
		"ann@example.org\r\nBcc: eve@example.net")
	f.Add("\u202e=?utf-8?q?=0D=0A?=", "?= =?utf-8?b?DQo=?=", "\u2066", "<script>alert(1)</script>&amp;<br>",
		"ann@example.org>,<eve@example.net")
	f.Add(strings.Repeat("ä", 300), strings.Repeat("> <", 200), "{{.}}&amp;lt;",
		strings.Repeat("--=_dlv_0123456789abcdefghij--\n", 9), "a@b.cd")
	f.Add("# *a*", "[b](http://c)", "<li>",
		"- `a`\n\n  > **b** [c](http://d 'e') <f@g.hi>\n1. ![j](k:l)\n\n---\n```\n</code></pre>\n```\n~~m~~", "a@b.cd")
	f.Add("Down", `Café \ Bar`, "API", "", "a@b.cd")
	f.Fuzz(func(t *testing.T, title, page, component, message, address string) {
		data := audience.EventData{
			Title: title, Component: component, Message: message, State: statuspage.IncidentIdentified,
			Impact: kernel.ImpactMinor,
			Affected: []statuspage.AffectedChange{
				{ComponentID: "comp_1", Name: component, New: kernel.StatusMajorOutage},
			},
		}
		incident := mailEvent(0, statuspage.EventIncidentCreated, "inc-1", "", data)
		maintenance := mailMaintenance(0, statuspage.EventMaintenanceBegun, statuspage.MaintenanceInProgress, "upd_1",
			message)
		maintenance.Data.Title, maintenance.Data.Maintenance.Components[0].Name = title, component
		for _, e := range []audience.Event{incident, maintenance} {
			n := mailNotification(audience.PurposeEvent, e, audience.Event{
				Kind: statuspage.EventComponentStatusChanged, ComponentID: "comp_1", Data: data,
			})
			n.Page.Name, n.Subscriber.Target = page, address
			for _, language := range i18n.Tags() {
				n.Page.Language = language
				fuzzMail(t, n)
			}
		}
	})
}

// isolatesBalance reports whether each Unicode isolate in a text is closed.
func isolatesBalance(text string) bool {
	open := 0
	for _, r := range text {
		switch r {
		case '\u2068':
			open++
		case '\u2069':
			open--
		}
		if open < 0 {
			return false
		}
	}
	return open == 0
}

// fuzzMail checks the mail of a notification that reports only its first event.
func fuzzMail(t *testing.T, n audience.Notification) {
	typed := n.Events[0].Data
	from := mail.Address{Address: "status@example.com"}
	e, err := composeFrom(n, from)
	if err != nil {
		n.Subscriber.Target = "ann@example.org"
		if e, err = composeFrom(n, from); err != nil {
			t.Fatal(err)
		}
	}
	plain := n
	plain.Page.Name, plain.Events = "Acme", []audience.Event{n.Events[0]}
	plain.Events[0].Data.Title, plain.Events[0].Data.Message = "Down", "a"
	p, q := parseMail(t, e.content), composed(t, plain)
	if got, want := slices.Sorted(maps.Keys(p.header)), slices.Sorted(maps.Keys(q.header)); !slices.Equal(got, want) {
		t.Errorf("header fields %q, want %q", got, want)
	}
	checkAddresses(t, p, n.Subscriber.Target, e.to, from)
	words, _ := htmlWords(t, p.html)
	l := i18n.Or(n.Page.Language)
	affected := l.T("mail.affected", "components", affectedList(n.Events[0], l))
	if !strings.Contains(p.text, "\n"+affected+"\n") || !strings.Contains(words, affected) {
		t.Errorf("%q is not in\n%s", affected, p.text)
	}
	messages, frame := readMessages(t, p.html)
	_, want := readMessages(t, q.html)
	for _, counts := range []map[string]int{frame, want} {
		delete(counts, "div") // the preview, which is there if the message is not empty
	}
	if utf8.RuneCountInString(typed.Message) > mailMessages {
		want["p"]++ // the note that the rest is on the page
	}
	if !maps.Equal(frame, want) {
		t.Errorf("around the message there are %v, want %v", frame, want)
	}
	if utf8.RuneCountInString(typed.Message) > mailMessages {
		return
	}
	shown := string(markdown.HTML(typed.Message))
	if markdown.Text(typed.Message) == "" {
		shown = "<p>" + defaultText(n.Events[0], pageInfo{zone: n.Page.Location(), lang: l}) + "</p>"
	}
	if len(messages) != 1 || messages[0] != shown {
		t.Errorf("messages %q, want %q", messages, shown)
	}
	if want := markdown.Text(typed.Message); !strings.Contains(p.text, want) {
		t.Errorf("the message %q is not in\n%s", want, p.text)
	}
}

// checkAddresses checks the recipient, the sender and the subject of a mail.
func checkAddresses(t *testing.T, p parsedMail, target, envelope string, from mail.Address) {
	t.Helper()
	to, err := p.header.AddressList("To")
	if err != nil || len(to) != 1 || to[0].Address != target || envelope != to[0].Address ||
		strings.ContainsAny(envelope, "\r\n<> ,") {
		t.Errorf("to %v, envelope %q, want %q (%v)", to, envelope, target, err)
	}
	sender, err := p.header.AddressList("From")
	if err != nil || len(sender) != 1 || sender[0].Address != from.Address {
		t.Errorf("from %v (%v)", sender, err)
	}
	if strings.ContainsFunc(p.subject, func(r rune) bool {
		return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2067
	}) || !isolatesBalance(p.subject) || utf8.RuneCountInString(p.subject) > 260 {
		t.Errorf("subject %q", p.subject)
	}
}
