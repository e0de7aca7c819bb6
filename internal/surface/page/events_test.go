package page

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// eventStream is an event stream over a real connection.
type eventStream struct {
	t    *testing.T
	res  *http.Response
	text *bufio.Reader
}

// serveLive serves the site of a fixture at a real address.
func serveLive(w *fixture) *httptest.Server {
	server := httptest.NewServer(w.site.Handler())
	w.t.Cleanup(func() { w.site.EndStreams(); server.Close() })
	return server
}

// listen opens an event stream. It ends with the test, at the latest after a
// minute.
func listen(t *testing.T, url string, fields ...string) *eventStream {
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
	return &eventStream{t, res, bufio.NewReader(res.Body)}
}

// next returns the fields of the next message, without keep-alives, or nil at the
// end of the stream.
func (e *eventStream) next() map[string]string {
	e.t.Helper()
	fields := map[string]string{}
	for {
		line, err := e.text.ReadString('\n')
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); {
		case err == io.EOF && line == "" && len(fields) == 0:
			return nil
		case err != nil:
			e.t.Fatalf("the line of an event: %q, %v", line, err)
		case name != "":
			fields[name] = value
		case fields["event"] == "alive" && fields["id"] == "":
			clear(fields)
		case len(fields) > 0:
			return fields
		}
	}
}

// is checks that a message is a change to a tag, or only announces the current tag,
// in an event that scripts receive.
func (e *eventStream) is(m map[string]string, tag string, change bool) {
	e.t.Helper()
	if m["id"] != tag || (m["event"] == "change" && m["data"] == tag) != change ||
		(m["event"] == "alive" && m["data"] != "") == change {
		e.t.Errorf("%v, want %s, change: %v", m, tag, change)
	}
}

// tag returns the tag in a page's HTML.
func (w *fixture) tag(path string) string {
	w.t.Helper()
	return w.get(path, 200).All("main[data-tag]")[0].Attr("data-tag")
}

func TestEventStream(t *testing.T) {
	t.Parallel()
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", "")
		w.clock.move(time.Hour) // before the first request
		url := serveLive(w).URL + "/status/acme/events"
		tag := w.tag("/status/acme")

		o := listen(t, url)
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
		} {
			if got := o.res.Header.Get(name); got != want {
				t.Errorf("the header: %s is %q", name, got)
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

		w.status("acme", c.ID, kernel.StatusMajorOutage)
		o.is(o.next(), w.tag("/status/acme"), true)
		w.status("acme", c.ID, kernel.StatusOperational)
		tag = w.tag("/status/acme")
		o.is(o.next(), tag, true)
	})
}

// TestEventStreamResumes connects with the tag of an older version of the page, and receives the newer one.
func TestEventStreamResumes(t *testing.T) {
	t.Parallel()
	run(t, func(w *fixture) {
		t := w.t
		url := serveLive(w).URL + "/status/acme/events"
		tag := w.tag("/status/acme")
		for _, known := range []struct {
			query, last string
			change      bool
		}{
			{"?have=" + tag, "", false},
			{"?have=older", "", true},
			{"?have=older", tag, false}, // Last-Event-ID is newer
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
	})
}

func TestEventStreamsThatAreRefused(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		serveLive(w)
		for _, path := range []string{"/status/nope/events", "/status/acme/events/", "/events"} {
			w.get(path, 404)
		}
		if rec := w.do("POST", "/status/acme/events"); rec.Code != 405 {
			t.Errorf("POST: %d", rec.Code)
		}
		// A connection that cannot be hijacked.
		if rec := w.do("GET", "/status/acme/events"); rec.Code != 503 || rec.Header().Get("Retry-After") != "60" {
			t.Errorf("without a connection: %d %v", rec.Code, rec.Header())
		}
	})
}

// TestStreamsOverHTTP2 checks that streams share a connection, receive changes, and end.
func TestStreamsOverHTTP2(t *testing.T) {
	t.Parallel()
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", "")
		server := httptest.NewUnstartedServer(w.site.Handler())
		server.EnableHTTP2 = true
		server.StartTLS()
		t.Cleanup(func() { w.site.EndStreams(); server.Close() })
		open := func() *eventStream {
			res, err := server.Client().Get(server.URL + "/status/acme/events")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { res.Body.Close() })
			if res.ProtoMajor != 2 || res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("the response: %s %s %v", res.Proto, res.Status, res.Header)
			}
			return &eventStream{t, res, bufio.NewReader(res.Body)}
		}
		streams := []*eventStream{open(), open()}
		tag := w.tag("/status/acme")
		for _, s := range streams {
			s.is(s.next(), tag, false)
		}
		w.status("acme", c.ID, kernel.StatusMajorOutage)
		for _, s := range streams {
			s.is(s.next(), w.tag("/status/acme"), true)
		}
		w.site.EndStreams()
		for _, s := range streams {
			if m := s.next(); m != nil {
				t.Errorf("after EndStreams: %v", m)
			}
		}
	})
}

// TestTagsOfHistoryAndIncidents checks that the history and the incidents of a page have its tag
// and its event stream.
func TestTagsOfHistoryAndIncidents(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		inc := w.incident("acme", statuspage.Incident{Title: "One"}, "")
		for range 2 {
			want := w.tag("/status/acme")
			for _, path := range []string{"/status/acme/history", "/status/acme/incidents/" + inc.ID} {
				main := w.get(path, 200).All("main")[0]
				if main.Attr("data-tag") != want || main.Attr("data-events") != "/status/acme/events" {
					t.Errorf("the tag and the stream: %s has %v, want %s", path, main.Node.Attr, want)
				}
			}
			u, err := w.store.PostUpdate(t.Context(), w.ws, inc.ID, statuspage.IncidentUpdate{Message: "An update."},
				nil)
			must(w, u, err)
		}
		if main := w.get("/nope", 404).All("main")[0]; main.Attr("data-events") != "" {
			t.Error("an error page follows events")
		}
	})
}

// TestEndOfStreams checks that streams end when their page is deleted, its slug
// changes, or the service stops.
func TestEndOfStreams(t *testing.T) {
	t.Parallel()
	run(t, func(w *fixture) {
		t := w.t
		w.page("beta", "Beta")
		url := serveLive(w).URL
		acme, beta := listen(t, url+"/status/acme/events"), listen(t, url+"/status/beta/events")
		acme.next()
		beta.next()
		other := "other"
		p, err := w.store.ChangePage(t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.Slug = other
			return nil
		})
		must(w, p, err)
		if m := acme.next(); m != nil {
			t.Errorf("after a change of the slug: %v", m)
		}
		if err := w.store.DeletePage(t.Context(), w.ws, "beta"); err != nil {
			t.Fatal(err)
		}
		if m := beta.next(); m != nil {
			t.Errorf("after the deletion: %v", m)
		}
		acme = listen(t, url+"/status/other/events")
		acme.next()
		w.site.EndStreams()
		if m := acme.next(); m != nil {
			t.Errorf("after EndStreams: %v", m)
		}
		if late := listen(t, url+"/status/other/events"); late.res.StatusCode != 503 {
			t.Errorf("a stream after EndStreams: %d", late.res.StatusCode)
		}
	})
}

// TestStreamsPerAddress opens as many streams as an address may have, and closes
// them.
func TestStreamsPerAddress(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		url := serveLive(w).URL + "/status/acme/events"
		var all []*eventStream
		for range 100 {
			o := listen(t, url)
			o.next()
			all = append(all, o)
		}
		o := listen(t, url)
		if o.res.StatusCode != http.StatusTooManyRequests || o.res.Header.Get("Retry-After") != "60" {
			t.Errorf("above the limit: %d %v", o.res.StatusCode, o.res.Header)
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
			t.Errorf("after all streams ended: %d", o.res.StatusCode)
		}
	})
}

// TestManyViewersOfOneChange checks that all viewers of a page are notified, and
// get the change when they request the page, which is rendered once per change.
func TestManyViewersOfOneChange(t *testing.T) {
	t.Parallel()
	run(t, func(w *fixture) {
		t := w.t
		c := w.component("acme", "Website", "")
		url := serveLive(w).URL + "/status/acme/events"
		w.get("/status/acme", 200)
		var loads atomic.Int64
		e := w.site.index.Last().find("acme")
		load := e.snapshot.Load
		e.snapshot.Load = func(ctx context.Context) (*snapshot, time.Time, error) {
			loads.Add(1)
			return load(ctx)
		}
		var viewers []*eventStream
		for range 50 {
			o := listen(t, url)
			o.next()
			viewers = append(viewers, o)
		}
		for round := int64(1); round <= 3; round++ {
			status := []kernel.Status{kernel.StatusOperational, kernel.StatusPartialOutage}[round%2]
			w.status("acme", c.ID, status)
			var requests sync.WaitGroup
			for _, o := range viewers {
				requests.Go(func() {
					m := o.next()
					for range 20 {
						requests.Go(func() {
							rec := w.do("GET", "/status/acme")
							body := rec.Body.String()
							if !strings.Contains(body, ` data-tag="`+m["id"]+`"`) ||
								!strings.Contains(body, ">"+kernel.Banner(status)+"</h2>") {
								t.Error("the page does not show the change of the event")
							}
						})
					}
				})
			}
			requests.Wait()
			if loads.Load() != round {
				t.Fatalf("loaded %d times after %d changes", loads.Load(), round)
			}
		}
	})
}

// TestTagOfDelayedPage checks that viewers are notified when a page is marked as
// delayed. It is about noon on the page, because the page is loaded again at midnight,
// which the closed store could not do.
func TestTagOfDelayedPage(t *testing.T) {
	run(t, func(w *fixture) {
		t := w.t
		now := time.Now() // the store's contact is by the host's clock
		zone := fmt.Sprintf("Etc/GMT%+d", now.UTC().Hour()-12)
		p, err := w.store.ChangePage(t.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.TimeZone = zone
			return nil
		})
		must(w, p, err)
		w.clock.set(now)
		tag := w.tag("/status/acme")
		w.store.Close()
		w.clock.set(w.store.LastContact().Add(delayedAfter + time.Millisecond))
		if got := w.tag("/status/acme"); got != tag+"-late" {
			t.Errorf("the page has the tag %q", got)
		}
		got, _, err := w.site.currentTag(t.Context(), w.site.index.Last().find("acme"))
		if got != tag+"-late" || err != nil {
			t.Errorf("the event stream has the tag %q, %v", got, err)
		}
	})
}
