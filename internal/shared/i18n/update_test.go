package i18n

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestSystemMessages checks that every kind of system message is translated.
func TestSystemMessages(t *testing.T) {
	zone := berlin(t)
	seen := map[string]string{}
	for _, l := range All() {
		for _, kind := range statuspage.SystemMessageKinds {
			a := statuspage.SystemMessage{
				Kind: kind, Since: time.Date(2026, 11, 21, 20, 15, 40, 0, time.UTC),
				Due: time.Date(2026, 11, 21, 20, 30, 0, 0, time.UTC), Interval: 5 * time.Minute,
				Lasted: 6 * time.Minute,
			}
			s := UpdateText{Message: a.Text(), System: a}
			for _, text := range []string{s.Plain(l, zone), string(s.HTML(l, zone)), s.Excerpt(l, zone)} {
				if strings.Contains(text, "{") || strings.Contains(text, "auto.") {
					t.Errorf("%s: text of %s: %q", l.Tag, kind, text)
				}
				if other, is := seen[text]; is && other != l.Tag+string(kind) {
					t.Errorf("%s: %s is like %s: %q", l.Tag, kind, other, text)
				}
				seen[text] = l.Tag + string(kind)
			}
			silent := kind == statuspage.SystemMessageSilent || kind == statuspage.SystemMessagePingMissed
			got := strings.Contains(string(s.HTML(l, zone)), `<time datetime="2026-11-21T20:15:40.000Z">`)
			if got != silent {
				t.Errorf("%s: HTML of %s: %s", l.Tag, kind, s.HTML(l, zone))
			}
			if got := strings.Contains(s.Plain(l, zone), "21:15"); got != silent {
				t.Errorf("%s: time in the text of %s: %s", l.Tag, kind, s.Plain(l, zone))
			}
			if got := strings.Contains(s.Plain(l, zone), "21:30"); got != (kind == statuspage.SystemMessagePingMissed) {
				t.Errorf("%s: due time in the text of %s: %s", l.Tag, kind, s.Plain(l, zone))
			}
		}
	}
	de := languageOf(t, "de")
	written := UpdateText{Message: "The maintenance has *begun*."}
	later := UpdateText{Message: "Something *new*.", System: statuspage.SystemMessage{Kind: "of_a_later_version"}}
	for s, want := range map[UpdateText]string{
		written: "<p>The maintenance has <em>begun</em>.</p>", later: "<p>Something <em>new</em>.</p>",
	} {
		if got := string(s.HTML(de, zone)); got != want {
			t.Errorf("HTML of %+v = %s, want %s", s, got, want)
		}
	}
}

// TestPublishedOutput checks that the output of a job is shown as text, after a sentence that is translated.
func TestPublishedOutput(t *testing.T) {
	system := statuspage.SystemMessage{
		Kind: statuspage.SystemMessageFailed, Output: "<b>disk</b> *full* ``` https://example.com",
	}
	u := UpdateText{Message: system.Text(), System: system}
	html := string(u.HTML(languageOf(t, "de"), time.UTC))
	if !strings.HasPrefix(html, "<p>Der Job hat einen Fehler gemeldet.</p><pre>") ||
		!strings.Contains(html, "&lt;b&gt;disk&lt;/b&gt; *full* ``` https://example.com") {
		t.Errorf("HTML of a published output = %s", html)
	}
	if got, want := u.Plain(English(), time.UTC), "The job reported a failure.\n\n"+system.Output; got != want {
		t.Errorf("Plain = %q, want %q", got, want)
	}
	if got, want := u.Excerpt(English(), time.UTC), "The job reported a failure."; got != want {
		t.Errorf("Excerpt = %q, want %q", got, want)
	}
}

// TestTimeBesideSystemMessages checks that a system message repeats neither the zone nor the date of the time beside
// it.
func TestTimeBesideSystemMessages(t *testing.T) {
	since := time.Date(2026, 11, 21, 22, 15, 40, 0, time.UTC) // 23:15 in Berlin
	message := statuspage.SystemMessage{Kind: statuspage.SystemMessageSilent, Since: since, Interval: 5 * time.Minute}
	for _, c := range []struct {
		after            time.Duration
		text, form, html string
	}{
		{10 * time.Minute, "23:15", "clock", "23:15"},
		{50 * time.Minute, "21 Nov, 23:15", "dayclock", "21 Nov, 23:15"},
	} {
		u := UpdateText{System: message, At: since.Add(c.after)}
		got, want := u.Plain(English(), berlin(t)),
			"No ping has arrived since "+c.text+". The expected interval is 5 minutes."
		if got != want {
			t.Errorf("Plain, shown %v later = %q, want %q", c.after, got, want)
		}
		html := `<time datetime="2026-11-21T22:15:40.000Z" data-form="` + c.form + `">` + c.html + "</time>."
		if got := string(u.HTML(English(), berlin(t))); !strings.Contains(got, html) {
			t.Errorf("HTML, shown %v later = %s, want %s", c.after, got, html)
		}
	}
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
