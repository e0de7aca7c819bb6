package notify

import (
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// smsNotification is a notification of a phone.
func smsNotification(purpose audience.DeliveryPurpose, events ...audience.Event) audience.Notification {
	n := mailNotification(purpose, events...)
	n.Subscriber.Channel, n.Subscriber.Target, n.Subscriber.Code = audience.ChannelSMS, "+4915112345678", "BCDFGHJK"
	return n
}

// TestSMSTexts checks the texts of all purposes, in the languages of pages.
func TestSMSTexts(t *testing.T) {
	incident := mailEvent(0, statuspage.EventIncidentCreated, "inc_1", "", audience.EventData{
		Title: "Checkout “is” slow – again…", Impact: kernel.ImpactMajor, State: statuspage.IncidentInvestigating,
		Message: "A long story.",
	})
	start := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
	maintenance := mailEvent(0, statuspage.EventMaintenanceScheduled, "", "", audience.EventData{
		Title:       "New disks",
		Maintenance: &audience.MaintenanceData{ScheduledFor: start, ScheduledUntil: start.Add(time.Hour)},
	})
	maintenance.MaintenanceID = "mnt_1"
	key := smsNotification(audience.PurposeEvent).Subscriber.Key
	for _, c := range []struct {
		name, language string
		n              audience.Notification
		want           []string
	}{
		{"incident", "en", smsNotification(audience.PurposeEvent, incident),
			[]string{
				`Investigating: Checkout "is" slow - again...` + "\n", "\nUnsubscribe: " + mailBase + "/u/" + key,
			}},
		{"maintenance", "en", smsNotification(audience.PurposeEvent, maintenance),
			[]string{": New disks\n1 Mar 2026, 22:00-23:00 UTC\n"}},
		{"code", "en", smsNotification(audience.PurposeConfirmation),
			[]string{"BCDF-GHJK is your code", "\n" + mailBase + "/s/" + key}},
		{"link", "en", smsNotification(audience.PurposeLink), []string{"\n" + mailBase + "/s/" + key}},
		{"test", "en", smsNotification(audience.PurposeTest), []string{"Nothing has happened.", "/u/" + key}},
		{"incident", "de", smsNotification(audience.PurposeEvent, incident),
			[]string{"Abbestellen: " + mailBase + "/u/" + key}},
		{"code", "de", smsNotification(audience.PurposeConfirmation), []string{"BCDF-GHJK ist Ihr Code"}},
		{"incident", "ar", smsNotification(audience.PurposeEvent, incident), []string{"/u/" + key}},
		{"code", "ar", smsNotification(audience.PurposeConfirmation), []string{"BCDF-GHJK", "/s/" + key}},
		{"link", "ar", smsNotification(audience.PurposeLink), []string{"/s/" + key}},
		{"test", "ar", smsNotification(audience.PurposeTest), []string{"/u/" + key}},
	} {
		c.n.Page.Language = c.language
		text, err := newSMSText(c.n, mailBase)
		if err != nil || !fitsSMS(text) {
			t.Errorf("%s in %s: %q, %v", c.name, c.language, text, err)
		}
		if c.language != "ar" && len(utf16.Encode([]rune(text))) > smsUnits &&
			strings.IndexFunc(text, func(r rune) bool {
				return !strings.ContainsRune(gsmBasic+gsmExtra, r)
			}) >= 0 {
			t.Errorf("%s in %s is not in the GSM alphabet: %q", c.name, c.language, text)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s in %s: no %q in %q", c.name, c.language, want, text)
			}
		}
		if strings.ContainsAny(text, "\u2068\u2069\u200b…–“") {
			t.Errorf("%s in %s: signs that cost room: %q", c.name, c.language, text)
		}
	}
	if _, err := newSMSText(smsNotification(audience.PurposeEvent), mailBase); err == nil {
		t.Error("a text about nothing")
	}
}

// TestLongTitleBySMS checks that a title is cut only if three parts have no room for it, and the times of a maintenance
// never.
func TestLongTitleBySMS(t *testing.T) {
	start := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
	for title, whole := range map[string]bool{
		strings.Repeat("long ", 50) + "title": true, strings.Repeat("ж", 250) + "title": false,
	} {
		maintenance := mailEvent(0, statuspage.EventMaintenanceScheduled, "", "", audience.EventData{
			Title:       title,
			Maintenance: &audience.MaintenanceData{ScheduledFor: start, ScheduledUntil: start.Add(time.Hour)},
		})
		maintenance.MaintenanceID = "mnt_1"
		text, err := newSMSText(smsNotification(audience.PurposeEvent, maintenance), mailBase)
		if err != nil || strings.Contains(text, title) != whole ||
			!strings.Contains(text, "\n1 Mar 2026, 22:00-23:00 UTC\n") || !fitsSMS(text) {
			t.Errorf("SMS about a maintenance: %q: %v", text, err)
		}
	}
}

// TestFitSMS checks that texts are cut to three parts in both alphabets, and links never.
func TestFitSMS(t *testing.T) {
	link := "https://status.example.com/u/" + strings.Repeat("k", 32)
	for name, c := range map[string]struct {
		text string
		cut  bool
	}{
		"GSM fits":             {strings.Repeat("a", smsSeptets-len(link)-1), false},
		"GSM does not":         {strings.Repeat("a", smsSeptets-len(link)), true},
		"GSM extension fits":   {strings.Repeat("€", (smsSeptets-len(link)-1)/2), false},
		"GSM extension":        {strings.Repeat("€", (smsSeptets-len(link)-1)/2+1), true},
		"UCS-2 fits":           {strings.Repeat("ж", smsUnits-len(link)-1), false},
		"UCS-2 does not":       {strings.Repeat("ж", smsUnits-len(link)), true},
		"surrogates fit":       {strings.Repeat("🔥", (smsUnits-len(link)-1)/2), false},
		"surrogates do not":    {strings.Repeat("🔥", (smsUnits-len(link)-1)/2+1), true},
		"the last is no GSM":   {strings.Repeat("a", 300) + "ж", true},
		"typography costs one": {strings.Repeat("’", smsSeptets-len(link)-1), false},
	} {
		got := fitSMS(c.text, link)
		if !fitsSMS(got) || !strings.HasSuffix(got, "\n"+link) || strings.Contains(got, "...") != c.cut {
			t.Errorf("%s: %d characters: %q", name, len([]rune(got)), got)
		}
		if c.cut &&
			fitsSMS(strings.Replace(
				got, "...",
				string([]rune(gsmFriendly.Replace(c.text))[len([]rune(strings.Split(got, "...")[0]))])+"...", 1,
			)) {
			t.Errorf("%s is cut too short: %q", name, got)
		}
	}
	got := fitSMS("x", strings.Repeat("https://example.com/", 50))
	if !strings.Contains(got, strings.Repeat("https://example.com/", 50)) {
		t.Error("a link is cut")
	}
}
