package page

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell"
)

// opened is a stream over a real connection.
type opened struct {
	t    *testing.T
	res  *http.Response
	text *bufio.Reader
}

// serveLive serves the world's site on a real address.
func serveLive(w *world) *httptest.Server {
	server := httptest.NewServer(w.site.Handler())
	w.t.Cleanup(func() { w.site.EndStreams(); server.Close() })
	return server
}

// listen opens a stream that ends with the test, at the latest after a minute.
func listen(t *testing.T, url string, fields ...string) *opened {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return &opened{t, res, bufio.NewReader(res.Body)}
}

// next returns the fields of the next message, signs of life in between left out;
// nil: the stream has ended.
func (o *opened) next() map[string]string {
	o.t.Helper()
	fields := map[string]string{}
	for {
		line, err := o.text.ReadString('\n')
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); {
		case err == io.EOF && line == "" && len(fields) == 0:
			return nil
		case err != nil:
			o.t.Fatalf("%q, %v", line, err)
		case name != "":
			fields[name] = value
		case fields["event"] == "alive" && fields["id"] == "":
			clear(fields) // the machine is slow
		case len(fields) > 0:
			return fields
		}
	}
}

// is holds a message to be a change to a tag, or to say only which it is, in an
// event that scripts see.
func (o *opened) is(m map[string]string, tag string, change bool) {
	o.t.Helper()
	if m["id"] != tag || (m["event"] == "change" && m["data"] == tag) != change || (m["event"] == "alive" && m["data"] != "") == change {
		o.t.Errorf("%v, want %s, a change: %v", m, tag, change)
	}
}

// tag returns the tag in a page's HTML.
func (w *world) tag(path string) string {
	w.t.Helper()
	return w.get(path, 200).All("main[data-tag]")[0].Attr("data-tag")
}

func TestEvents(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c := w.component("acme", "Website", "")
		w.clock.move(time.Hour) // before anybody looks: what time alone changes is told as well
		url := serveLive(w).URL + "/status/acme/events"
		tag := w.tag("/status/acme")

		o := listen(t, url)
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
			if got := o.res.Header.Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		m := o.next()
		o.is(m, tag, false)
		if d, err := time.ParseDuration(m["retry"] + "ms"); err != nil || d < 3*time.Second || d >= 6*time.Second {
			t.Errorf("retry %q", m["retry"])
		}
		head := w.do("HEAD", "/status/acme/events")
		if head.Code != 200 || head.Header().Get("Content-Type") != "text/event-stream" || head.Body.Len() > 0 {
			t.Errorf("HEAD: %d %v", head.Code, head.Header())
		}

		w.status("acme", c.ID, allswell.StatusMajorOutage)
		o.is(o.next(), w.tag("/status/acme"), true)
		w.status("acme", c.ID, allswell.StatusOperational)
		tag = w.tag("/status/acme")
		o.is(o.next(), tag, true)

		for _, known := range []struct {
			query, last string
			change      bool
		}{
			{"?have=" + tag, "", false},
			{"?have=older", "", true},
			{"?have=older", tag, false}, // what was heard since counts
			{"?have=" + tag, "older", true},
			{"", "older", true},
			{"?have=", "", false},
		} {
			var fields []string
			if known.last != "" {
				fields = []string{"Last-Event-ID", known.last}
			}
			o := listen(t, url+known.query, fields...)
			o.is(o.next(), tag, known.change)
		}
		for _, path := range []string{"/status/nope/events", "/status/acme/events/", "/events"} {
			w.get(path, 404)
		}
		if rec := w.do("POST", "/status/acme/events"); rec.Code != 405 {
			t.Errorf("POST: %d", rec.Code)
		}
		// A connection that cannot be taken over, as in HTTP/2.
		if rec := w.do("GET", "/status/acme/events"); rec.Code != 503 || rec.Header().Get("Retry-After") != "60" {
			t.Errorf("%d %v", rec.Code, rec.Header())
		}
	})
}

// TestTagsOfParts: history and incidents hear of what their page hears of.
func TestTagsOfParts(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		inc := w.incident("acme", allswell.NewIncident{Title: "One"})
		for range 2 {
			want := w.tag("/status/acme")
			for _, path := range []string{"/status/acme/history", "/status/acme/incidents/" + inc.ID} {
				main := w.get(path, 200).All("main")[0]
				if main.Attr("data-tag") != want || main.Attr("data-events") != "/status/acme/events" {
					t.Errorf("%s has %v, want %s", path, main.Node.Attr, want)
				}
			}
			u, err := w.store.PostUpdate(t.Context(), w.ws, inc.ID, "News.")
			must(w, u, err)
		}
		if scripts := w.get("/nope", 404).All("script"); len(scripts) > 0 {
			t.Error("an error page has a script")
		}
	})
}

// TestEventsEnd: streams end with their page, its address and the service.
func TestEventsEnd(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		w.page("beta", "Beta")
		url := serveLive(w).URL
		acme, beta := listen(t, url+"/status/acme/events"), listen(t, url+"/status/beta/events")
		acme.next()
		beta.next()
		other := "other"
		p, err := w.store.ChangePage(t.Context(), w.ws, "acme", allswell.PageChange{Slug: &other})
		must(w, p, err)
		if m := acme.next(); m != nil {
			t.Errorf("another slug: %v", m)
		}
		if err := w.store.DeletePage(t.Context(), w.ws, "beta"); err != nil {
			t.Fatal(err)
		}
		if m := beta.next(); m != nil {
			t.Errorf("a deleted page: %v", m)
		}
		acme = listen(t, url+"/status/other/events")
		acme.next()
		w.site.EndStreams()
		if m := acme.next(); m != nil {
			t.Errorf("at the end: %v", m)
		}
		if late := listen(t, url+"/status/other/events"); late.res.StatusCode != 503 {
			t.Errorf("after the end: %d", late.res.StatusCode)
		}
	})
}

// TestPlacesAreGivenBack fills an address's places, and hangs up.
func TestPlacesAreGivenBack(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		url := serveLive(w).URL + "/status/acme/events"
		var all []*opened
		for range 100 {
			o := listen(t, url)
			o.next()
			all = append(all, o)
		}
		o := listen(t, url)
		if o.res.StatusCode != http.StatusTooManyRequests || o.res.Header.Get("Retry-After") != "60" {
			t.Errorf("one too many: %d %v", o.res.StatusCode, o.res.Header)
		}
		for _, o := range all {
			o.res.Body.Close()
		}
		for deadline := time.Now().Add(10 * time.Second); w.site.Streams() > 0; {
			if time.Now().After(deadline) {
				t.Fatalf("%d streams are still open", w.site.Streams())
			}
		}
		if o = listen(t, url); o.res.StatusCode != 200 {
			t.Errorf("after all have gone: %d", o.res.StatusCode)
		}
	})
}

// TestHerdAfterNews: all who have the page open are told, fetch it at once, and
// see what they were told of; it is rendered once for each change.
func TestHerdAfterNews(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		c := w.component("acme", "Website", "")
		url := serveLive(w).URL + "/status/acme/events"
		w.get("/status/acme", 200)
		var made atomic.Int64
		e := w.site.index.Last().find("acme")
		loads := e.summary.Load
		e.summary.Load = func(ctx context.Context) (*snapshot, time.Time, error) {
			made.Add(1)
			return loads(ctx)
		}
		var viewers []*opened
		for range 50 {
			o := listen(t, url)
			o.next()
			viewers = append(viewers, o)
		}
		for round := int64(1); round <= 3; round++ {
			status := []allswell.Status{allswell.StatusOperational, allswell.StatusPartialOutage}[round%2]
			w.status("acme", c.ID, status)
			var herd sync.WaitGroup
			for _, o := range viewers {
				herd.Go(func() {
					m := o.next()
					for range 20 {
						herd.Go(func() {
							rec := w.do("GET", "/status/acme")
							if body := rec.Body.String(); !strings.Contains(body, ` data-tag="`+m["id"]+`"`) || !strings.Contains(body, ">"+allswell.Banner(status)+"</h2>") {
								t.Error("not what was told")
							}
						})
					}
				})
			}
			herd.Wait()
			if made.Load() != round {
				t.Fatalf("rendered %d times after %d changes", made.Load(), round)
			}
		}
	})
}

// TestLateTag: viewers hear that a page says it is delayed.
func TestLateTag(t *testing.T) {
	run(t, func(w *world) {
		t := w.t
		w.clock.set(time.Now()) // which the store's contact is counted by
		tag := w.tag("/status/acme")
		w.store.Close()
		w.clock.set(w.store.LastContact().Add(delayedAfter + time.Millisecond))
		if got := w.tag("/status/acme"); got != tag+"-late" {
			t.Errorf("the page has the tag %q", got)
		}
		got, _, err := w.site.currentTag(t.Context(), w.site.index.Last().find("acme"))
		if got != tag+"-late" || err != nil {
			t.Errorf("viewers are told %q, %v", got, err)
		}
	})
}
