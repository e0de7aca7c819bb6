package i18n

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// TestSystemMessages checks that every kind of system message is translated.
func TestSystemMessages(t *testing.T) {
	zone := berlin(t)
	seen := map[string]string{}
	for _, l := range All() {
		for _, kind := range allswell.SystemMessageKinds {
			a := allswell.SystemMessage{Kind: kind, Since: time.Date(2026, 11, 21, 20, 15, 40, 0, time.UTC), Interval: 5 * time.Minute, Lasted: 6 * time.Minute}
			s := UpdateText{a.Text(), a}
			for _, text := range []string{s.Plain(l, zone), string(s.HTML(l, zone)), s.Excerpt(l, zone)} {
				if strings.Contains(text, "{") || strings.Contains(text, "auto.") {
					t.Errorf("%s: %s: %q", l.Tag, kind, text)
				}
				if other, is := seen[text]; is && other != l.Tag+string(kind) {
					t.Errorf("%s: %s is like %s: %q", l.Tag, kind, other, text)
				}
				seen[text] = l.Tag + string(kind)
			}
			silent := kind == allswell.SystemMessageSilent
			if got := strings.Contains(string(s.HTML(l, zone)), `<time datetime="2026-11-21T20:15:40.000Z">`); got != silent {
				t.Errorf("%s: %s: %s", l.Tag, kind, s.HTML(l, zone))
			}
			if got := strings.Contains(s.Plain(l, zone), "21:15"); got != silent {
				t.Errorf("%s: %s: %s", l.Tag, kind, s.Plain(l, zone))
			}
		}
	}
	de := languageOf(t, "de")
	written := UpdateText{Message: "The maintenance has *begun*."}
	later := UpdateText{"Something *new*.", allswell.SystemMessage{Kind: "of_a_later_version"}}
	for s, want := range map[UpdateText]string{written: "<p>The maintenance has <em>begun</em>.</p>", later: "<p>Something <em>new</em>.</p>"} {
		if got := string(s.HTML(de, zone)); got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
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
