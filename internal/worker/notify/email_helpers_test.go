package notify

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"golang.org/x/net/html"
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

// mailNotification returns a notification to a subscriber by email.
func mailNotification(purpose audience.DeliveryPurpose, events ...audience.Event) audience.Notification {
	return audience.Notification{
		Delivery: audience.Delivery{ID: "dlv_0123456789abcdefghij", Purpose: purpose, Channel: audience.ChannelEmail},
		Subscriber: audience.Subscriber{
			ID: "sub_1", Channel: audience.ChannelEmail, Target: "ann@example.org", Key: mailKey,
		},
		Page: statuspage.Page{Slug: "acme", Name: "Acme", TimeZone: statuspage.DefaultTimeZone}, Events: events,
	}
}

// mailEvent returns an event of an incident, the given number of minutes after mailStart.
func mailEvent(
	minutes int, kind statuspage.EventKind, incident, monitor string, data audience.EventData,
) audience.Event {
	data.Resolved = data.Resolved || data.State == statuspage.IncidentResolved
	return audience.Event{
		ID: "evt_1", Kind: kind, IncidentID: incident, MonitorID: monitor, Data: data,
		CreatedAt: mailStart.Add(time.Duration(minutes) * time.Minute),
	}
}

// mailOutage returns the events of a monitor that goes down and, unless up is 0, recovers.
// down and up are minutes after mailStart.
func mailOutage(incident, monitor string, down, up int) []audience.Event {
	data := audience.EventData{
		Title: monitor + " is down", Impact: kernel.ImpactMajor, State: statuspage.IncidentInvestigating,
		Message: "No ping.",
	}
	events := []audience.Event{mailEvent(down, statuspage.EventIncidentCreated, incident, monitor, data)}
	if up != 0 {
		data.State, data.Message = statuspage.IncidentResolved, "A ping arrived."
		events = append(events, mailEvent(up, statuspage.EventIncidentResolved, incident, monitor, data))
	}
	return events
}

// mailDatabase returns the events of an incident that was opened by hand.
func mailDatabase() []audience.Event {
	data := audience.EventData{
		Title: "Database <down>", Impact: kernel.ImpactCritical, State: statuspage.IncidentInvestigating,
		Message: "Writes fail.\r\nReads & lists work.",
	}
	created := mailEvent(0, statuspage.EventIncidentCreated, "inc-1", "", data)
	data.Impact, data.State, data.Message = kernel.ImpactMajor, statuspage.IncidentIdentified, "A full disk."
	updated := mailEvent(12, statuspage.EventIncidentUpdated, "inc-1", "", data)
	data.State, data.Message = statuspage.IncidentResolved, ""
	return []audience.Event{created, updated, mailEvent(40, statuspage.EventIncidentResolved, "inc-1", "", data)}
}

// mailMaintenance returns an event of a planned maintenance, the given number of minutes
// after mailStart. update is the id of the entry in its timeline, or "".
func mailMaintenance(
	minutes int, kind statuspage.EventKind, state statuspage.MaintenanceState, update, message string,
) audience.Event {
	return audience.Event{
		ID: "evt_1", Kind: kind, MaintenanceID: "mnt_1", UpdateID: update,
		Data: audience.EventData{Title: "Database upgrade", Message: message, Maintenance: &audience.MaintenanceData{
			State: state, ScheduledFor: mailStart.Add(19 * time.Hour), ScheduledUntil: mailStart.Add(21 * time.Hour),
			Components: []statuspage.ComponentName{{ID: "comp_1", Name: "API"}, {ID: "comp_2", Name: "Website"}},
		}},
		CreatedAt: mailStart.Add(time.Duration(minutes) * time.Minute),
	}
}

// mailUpgrade returns the events of a planned maintenance from beginning to end.
func mailUpgrade() []audience.Event {
	return []audience.Event{
		mailMaintenance(0, statuspage.EventMaintenanceScheduled, statuspage.MaintenanceScheduled, "upd_1",
			"Writes wait for up to *a minute*."),
		mailMaintenance(60, statuspage.EventMaintenanceReminder, statuspage.MaintenanceScheduled, "", ""),
		mailMaintenance(1140, statuspage.EventMaintenanceBegun, statuspage.MaintenanceInProgress, "upd_2",
			"The maintenance has begun."),
		mailMaintenance(1200, statuspage.EventMaintenanceUpdated, statuspage.MaintenanceVerifying, "upd_3",
			"We are checking the results."),
		mailMaintenance(1260, statuspage.EventMaintenanceEnded, statuspage.MaintenanceCompleted, "upd_4",
			"The maintenance is complete."),
	}
}

// parsedMail is a decoded mail.
type parsedMail struct {
	header     mail.Header
	subject    string
	text, html string
}

// parseMail decodes a mail and checks the rules that apply to all mails.
func parseMail(t *testing.T, content []byte) parsedMail {
	t.Helper()
	for line := range bytes.SplitSeq(bytes.TrimSuffix(content, []byte("\r\n")), []byte("\r\n")) {
		if len(line) > 998 || bytes.ContainsAny(line, "\r\n\x00") || !isASCII(string(line)) {
			t.Fatalf("a line that is not valid in SMTP: %.200q", line)
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
		if got.Header.Get("Content-Type") != part.media ||
			got.Header.Get("Content-Transfer-Encoding") != "quoted-printable" || len(got.Header) != 2 {
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

// composeFrom composes a mail of a sender.
func composeFrom(n audience.Notification, from mail.Address) (envelope, error) {
	return newComposer(from).compose(n)
}

func newComposer(from mail.Address) *mailer {
	return newMailer(&url.URL{Scheme: "smtp", Host: "127.0.0.1:25"}, mailBase, "", from)
}

// composed composes and decodes a mail.
func composed(t *testing.T, n audience.Notification) parsedMail {
	t.Helper()
	e, err := composeFrom(n, mailFrom)
	if err != nil {
		t.Fatal(err)
	}
	if e.from != mailFrom.Address || e.to != n.Subscriber.Target {
		t.Errorf("envelope from %q to %q", e.from, e.to)
	}
	return parseMail(t, e.content)
}

// htmlWords returns the text of the HTML, and the number of its elements by name.
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
				logo := a.Key == "src" && strings.HasPrefix(a.Val, mailBase+"/status/acme/look/")
				if strings.HasPrefix(a.Key, "on") || a.Key == "src" && !logo || a.Key == "href" && !ours && !typed {
					t.Errorf("attribute in a mail: <%s %s=%q>", token.Data, a.Key, a.Val)
				}
			}
		}
	}
}
