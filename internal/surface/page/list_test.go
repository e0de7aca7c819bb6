package page

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/htmltest"
)

// TestListWithBrokenPages checks that the list is served, with the status of all
// pages, while one page hangs and another cannot be rendered.
func TestListWithBrokenPages(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		for _, slug := range []string{"hangs", "fails"} {
			w.clock.move(time.Second)
			w.page(slug, slug)
		}
		hangs, fails := w.component("hangs", "x", ""), w.component("fails", "x", "")
		w.get("/", 200)
		d, err := w.site.index.Get(t.Context())
		must(w, d, err)
		ended := make(chan struct{})
		defer close(ended)
		d.find("hangs").snapshot.Load = func(context.Context) (*snapshot, time.Time, error) {
			<-ended
			return nil, time.Time{}, errors.New("too late")
		}
		d.find("fails").snapshot.Load = func(context.Context) (*snapshot, time.Time, error) { panic("broken") }
		w.status("hangs", hangs.ID, kernel.StatusMajorOutage)
		w.status("fails", fails.ID, kernel.StatusDegraded)
		p := w.get("/", 200)
		got, want := p.Texts(".pages .state"),
			[]string{
				"All systems operational", "Major system outage", "Some systems are degraded",
			}
		if !slices.Equal(got, want) {
			t.Errorf("the list: %q, want %q", got, want)
		}
		if late := p.All(".late"); len(late) != 0 {
			t.Error("a current list says that it is delayed")
		}
		w.get("/status/fails", 503)
	})
}

// TestDelayedList checks that a list that cannot be reloaded is served and says how
// old it is.
func TestDelayedList(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		w.page("beta", "Beta")
		w.get("/", 200)
		loaded, loads := w.clock.now(), w.site.list.Load
		w.site.list.Load = func(context.Context) (*pageList, time.Time, error) {
			return nil, time.Time{}, errors.New("broken")
		}
		for _, c := range []struct {
			after time.Duration
			late  bool
		}{{time.Second, false}, {3 * time.Minute, false}, {3*time.Minute + time.Second, true}, {30 * time.Hour, true}} {
			w.clock.set(loaded.Add(c.after))
			w.page(fmt.Sprint("page-", c.after.Milliseconds()), "Other")
			p := w.get("/", 200)
			if got := len(p.All(".pages li")); got != 2 {
				t.Errorf("after %v: %d pages", c.after, got)
			}
			late := strings.Join(p.Texts(".late"), "")
			if (late != "") != c.late || c.late && !strings.Contains(late, i18n.English().Moment(loaded)) {
				t.Errorf("the delay after %v: %q", c.after, late)
			}
		}
		w.site.list.Load = loads
		w.page("last", "Last")
		if p := w.get("/", 200); len(p.All(".pages li")) != 7 || len(p.All(".late")) != 0 {
			t.Errorf("%d pages once it can be loaded again", len(p.All(".pages li")))
		}
	})
}

// TestListIsLimited checks that the list is limited and says how many pages it
// leaves out.
func TestListIsLimited(t *testing.T) {
	w := open(t, "sqlite:"+filepath.Join(storetest.TempDir(t), "list.db"), &clock{})
	for i := range maxListed + 3 {
		w.page(fmt.Sprint("page-", i), fmt.Sprint("Page ", i))
		w.clock.move(time.Second)
	}
	p := w.get("/", 200)
	names := p.Texts(".pages .component")
	if len(names) != maxListed || names[0] != "Page 0" || names[maxListed-1] != fmt.Sprint("Page ", maxListed-1) {
		t.Errorf("%d pages: %.100q", len(names), names)
	}
	if got := p.One(t, "main .quiet"); !strings.Contains(got, "3") {
		t.Errorf("the number of omitted pages: %q", got)
	}
}

// TestListKeepsTheChosenLanguage checks that the links of the list name the language if
// the visitor has chosen it, and only then.
func TestListKeepsTheChosenLanguage(t *testing.T) {
	run(t, func(w *fixture) {
		w.clock.move(time.Second)
		w.page("beta", "Beta")
		for range 2 { // rendered, and from memory
			for query, want := range map[string]string{"": "/status/acme/", "?lang=de": "/status/acme/?lang=de"} {
				p := htmltest.Parse(w.t, w.do("GET", "/"+query, "Accept-Language", "de").Body.String())
				lang, got := p.All("html")[0].Attr("lang"), p.All(".pages a")[0].Attr("href")
				if lang != "de" || got != want {
					w.t.Errorf("/%s is in %s and links to %s, want %s", query, lang, got, want)
				}
			}
		}
	})
}
