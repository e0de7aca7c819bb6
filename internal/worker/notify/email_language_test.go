package notify

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
)

// mailsByLanguage are the mails of a page in its language and time zone.
var mailsByLanguage = []struct {
	language, dir, name  string
	encoded              string // beginning of the encoded subject
	subjects, texts      []string
	confirm, unsubscribe string
}{
	{"de", "ltr", "Müller & Söhne", "=?utf-8?q?[M=C3=BCller_",
		[]string{"[Müller & Söhne] Läuft: Umzug", "[Müller & Söhne] Wird untersucht: Checkout is slow"},
		[]string{"\nGeplante Wartung.\n21. Nov. 2026, 10:48–11:48 MEZ\nBetroffen: API\n" +
			"\nLäuft · 21. Nov. 2026, 10:48 MEZ\nDie Wartung hat begonnen.\n", "\nIt is slow.\n"},
		"[Müller & Söhne] Bitte bestätigen Sie Ihr Abonnement", "\nAbbestellen: https://"},
	{"ar", "rtl", "شركة المثال", "=?utf-8?q?[=D8=B4=D8=B1=D9=83=D8=A9",
		[]string{
			"[شركة المثال] جارية: \u2068Umzug\u2069", "[شركة المثال] قيد التحقيق: \u2068Checkout is slow\u2069",
		},
		[]string{
			"\nصيانة مخطط لها.\nمن 21 نوفمبر 2026، 10:48 إلى 11:48 CET\nالمكوّنات المتأثرة: \u2068API\u2069\n" +
				"\nجارية · 21 نوفمبر 2026، 10:48 CET\nبدأت الصيانة.\n", "\nIt is slow.\n",
		},
		"[شركة المثال] يرجى تأكيد اشتراكك", "\nإلغاء الاشتراك: https://"},
}

// TestMailsOverSMTP checks that the mails of a page arrive in its language and time zone.
func TestMailsOverSMTP(t *testing.T) {
	t.Parallel()
	for _, c := range mailsByLanguage {
		t.Run(c.language, func(t *testing.T) {
			runOnPlannedSites(t, func(s *plannedSite) {
				_, err := s.ChangePage(s.Context(), s.ws, "acme", func(p *statuspage.Page) error {
					p.Name, p.Language = c.name, c.language
					return nil
				})
				s.ok(err)
				from := mailStart.Add(2 * time.Hour)
				_, err = s.CreateMaintenance(s.Context(), s.ws, "acme",
					resource.Maintenance.From(statuspage.Maintenance{
						Title: "Umzug", ScheduledFor: from, ScheduledUntil: from.Add(time.Hour),
						Components: statuspage.ComponentRefs(s.api.ID),
					}))
				s.ok(err)
				s.pass(2 * time.Hour)
				s.openIncident("It is slow.")
				s.ok(s.RequestSignUp(s.Context(), store.SignUp{
					Slug:       "acme",
					Subscriber: audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "eve@example.com"},
				}))
				peer := newSMTPPeer(t, "plain")
				s.start(peer.address)
				s.waitFor("all mails are there", func() bool { return len(peer.received()) == 3 })
				found := make(map[string]parsedMail)
				for _, m := range peer.received() {
					p := parseMail(t, []byte(m.content))
					found[p.subject] = p
					if got := p.header.Get("Content-Language"); got != c.language {
						t.Errorf("Content-Language %q", got)
					}
					if got := p.header.Get("Subject"); !strings.HasPrefix(got, c.encoded) {
						t.Errorf("subject %q", got)
					}
					if want := `<html lang="` + c.language + `" dir="` + c.dir + `">`; !strings.Contains(p.html, want) {
						t.Errorf("the HTML lacks %s", want)
					}
				}
				for i, subject := range c.subjects {
					p, ok := found[subject]
					if !ok || !strings.Contains(p.text, c.texts[i]) || !strings.Contains(p.text, c.unsubscribe) {
						t.Errorf("%s:\n%s", subject, p.text)
					}
				}
				if _, ok := found[c.confirm]; !ok {
					t.Errorf("no mail %q", c.confirm)
				}
			})
		})
	}
}

// allMails returns notifications that together have all the texts of mails.
func allMails() []audience.Notification {
	outage := func(incident, monitor string, down, up int) []audience.Event {
		events := mailOutage(incident, monitor, down, up)
		for i := range events {
			d := &events[i].Data
			d.DownMonitor, d.System = monitor,
				statuspage.SystemMessage{Kind: statuspage.SystemMessageSilent, Since: mailStart, Interval: time.Hour}
			if events[i].Kind == statuspage.EventIncidentResolved {
				d.System = statuspage.SystemMessage{Kind: statuspage.SystemMessagePingsResumed, Lasted: time.Hour}
			}
		}
		return events
	}
	var many, flapping []audience.Event
	for i := range mailThreads + 2 {
		id := strconv.Itoa(i)
		many = append(many, outage(id, id, i, 0)...)
		flapping = append(flapping, outage(id, "1", 2*i, 2*i+1)...)
	}
	untitled := append(mailDatabase(), mailUpgrade()[0])
	for i := range untitled {
		untitled[i].Data.Title, untitled[i].Data.Message = "", strings.Repeat("1", 2*mailMessages/len(untitled))
		for range mailComponents + 2 {
			untitled[i].Data.Affected = append(untitled[i].Data.Affected, statuspage.AffectedChange{
				Name: "1", New: kernel.StatusMajorOutage,
			})
		}
	}
	life := mailUpgrade()
	for i := range life {
		d := &life[i].Data
		d.Title, d.Message, d.Maintenance.Components = "1", "", nil
	}
	moved, ended := life[1], life[2]
	moved.Kind, ended.Kind = statuspage.EventMaintenanceUpdated, statuspage.EventMaintenanceUpdated
	ended.UpdateID = ""
	posted, cancelled := moved, moved
	posted.UpdateID, cancelled.Kind = "upd_1", statuspage.EventMaintenanceCancelled
	events := [][]audience.Event{
		many, many[:1], many[:2], flapping, untitled, untitled[:3], untitled[3:], append(life, moved, ended, posted),
		{cancelled},
		append(outage("a", "1", 0, 0), outage("b", "2", 0, 1)...),
		append(outage("a", "1", 0, 1), outage("b", "2", 0, 1)...),
	}
	all := []audience.Notification{
		mailNotification(audience.PurposeConfirmation), mailNotification(audience.PurposeLink),
		mailNotification(audience.PurposeTest),
	}
	for _, e := range events {
		all = append(all, mailNotification(audience.PurposeEvent, e...))
	}
	for i := range all {
		all[i].Page.Name = "1"
	}
	return all
}

// TestMailsAreTranslated checks that a mail in Arabic has no text in Latin letters, that
// a mail in German has none of the texts of the English one, and that the HTML of each
// has the direction of the language.
func TestMailsAreTranslated(t *testing.T) {
	address := regexp.MustCompile(`https?://\S+|UTC`)
	key := regexp.MustCompile(`mail\.[a-z]|\{[a-z]+\}`)
	latin := regexp.MustCompile(`[A-Za-z]+`)
	lines := func(p parsedMail) []string {
		words, _ := htmlWords(t, p.html[strings.Index(p.html, "<body"):])
		return strings.Split(address.ReplaceAllString(p.subject+"\n"+p.text+"\n"+words, ""), "\n")
	}
	for _, n := range allMails() {
		mails := make(map[string]parsedMail)
		for _, l := range i18n.All() {
			n.Page.Language = l.Tag
			mails[l.Tag] = composed(t, n)
			start := map[string]string{"ltr": "left", "rtl": "right"}[l.Dir]
			end := map[string]string{"ltr": "right", "rtl": "left"}[l.Dir]
			html := mails[l.Tag].html
			if !strings.Contains(html, "text-align:"+start) ||
				strings.Contains(html, "text-align:"+end) ||
				strings.Contains(html, "border-"+end) || strings.Contains(html, "ZgotmplZ") ||
				!strings.Contains(html, `lang="`+l.Tag+`" dir="`+l.Dir+`" width`) {
				t.Errorf("%s: the HTML does not have the direction %s:\n%s", l.Tag, l.Dir, html)
			}
			if found := key.FindString(strings.Join(lines(mails[l.Tag]), "\n")); found != "" {
				t.Errorf("%s: %q is shown", l.Tag, found)
			}
		}
		for _, line := range lines(mails["ar"]) {
			if found := latin.FindString(line); found != "" {
				t.Errorf("%s: %q is not Arabic:\n%s", n.Delivery.Purpose, found, line)
			}
		}
		english := lines(mails["en"])
		for _, line := range lines(mails["de"]) {
			if latin.MatchString(line) && slices.Contains(english, line) {
				t.Errorf("%s: %q is English", n.Delivery.Purpose, line)
			}
		}
	}
}

// TestMailTimesOfSystemMessages checks that both forms of a mail have the times of system
// messages in the time zone of the page.
func TestMailTimesOfSystemMessages(t *testing.T) {
	events := mailOutage("a", "Backup", 0, 0)
	events[0].Data.System = statuspage.SystemMessage{
		Kind: statuspage.SystemMessageSilent, Since: mailStart.Add(-time.Hour), Interval: time.Hour,
	}
	n := mailNotification(audience.PurposeEvent, events...)
	n.Page.TimeZone = "Asia/Tokyo"
	p := composed(t, n)
	words, _ := htmlWords(t, p.html)
	for form, text := range map[string]string{"text": p.text, "HTML": words} {
		// The zone is said once. In UTC it is 06:48.
		if !strings.Contains(text, "21 Nov 2026, 16:48 JST") || !strings.Contains(text, "since 15:48. ") ||
			strings.Contains(text, "UTC") ||
			strings.Contains(text, "06:48") {
			t.Errorf("the %s has times of another zone:\n%s", form, text)
		}
	}
}

// TestMailIsolates checks that texts of the other direction are isolated, also where a
// subject is cut.
func TestMailIsolates(t *testing.T) {
	events := mailDatabase()[:1]
	events[0].Data.Title = strings.Repeat("Database ", 25)
	events[0].Data.Affected = []statuspage.AffectedChange{{Name: "Web", New: kernel.StatusMajorOutage}}
	n := mailNotification(audience.PurposeEvent, events...)
	n.Page.Language = "ar"
	p := composed(t, n)
	if !strings.HasPrefix(p.subject, "[\u2068Acme\u2069] قيد التحقيق: \u2068Database ") ||
		!strings.HasSuffix(p.subject, "…\u2069") {
		t.Errorf("subject %q", p.subject)
	}
	if !strings.Contains(p.text, "\nالمكوّنات المتأثرة: \u2068Web\u2069 (انقطاع كبير)\n") {
		t.Errorf("the components are not isolated:\n%s", p.text)
	}
	events[0].Data.Title = "قاعدة البيانات"
	n.Page.Language = "de"
	if p := composed(t, n); p.subject != "[Acme] Wird untersucht: \u2068قاعدة البيانات\u2069" {
		t.Errorf("subject %q", p.subject)
	}
}

// TestMailOfUnknownLanguage checks that a mail is in English if the language of the page
// is not available, and in one that the page offers.
func TestMailOfUnknownLanguage(t *testing.T) {
	for _, c := range []struct{ language, offered, want string }{
		{"", "", "en"}, {"de-AT", "", "de"}, {"qaa", "", "en"}, {"", "de", "de"}, {"en", "ar de", "ar"},
		{"de-AT", "ar de", "de"},
	} {
		n := mailNotification(audience.PurposeLink)
		n.Page.Language, n.Page.Languages = c.language, strings.Fields(c.offered)
		if got := composed(t, n).header.Get("Content-Language"); got != c.want {
			t.Errorf("%+v: Content-Language %q", c, got)
		}
	}
}
