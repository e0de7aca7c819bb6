package server

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/worker/ping"
)

// countingBackend is a server with the page "acme" that counts the requests which reach it, by path.
type countingBackend struct {
	*Server
	url    string
	actor  kernel.Actor
	token  string
	counts sync.Map // path → *atomic.Int64
	stop   func()
}

func newCountingBackend(t *testing.T) *countingBackend {
	t.Helper()
	const base = "https://status.example.com"
	s, err := New(t.Context(), Config{
		Listen: "127.0.0.1:0", Database: storetest.SQLite(t), CheckInterval: time.Minute, FailureThreshold: 3,
		TrustedProxies: mustNetworks(t, "127.0.0.1"), BaseURL: base, Hosts: ownHosts(base, nil),
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.pings.Start(t.Context(), s.store); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.pings.Close(context.Background()) })
	s.openHandlers()
	work, stopWork := context.WithCancel(t.Context())
	running := make(chan struct{})
	go func() {
		s.site.Run(work)
		close(running)
	}()
	actor, token := storetest.Workspace(t, s.store, account.DefaultWorkspace)
	b := &countingBackend{Server: s, actor: actor, token: token}
	_, err = s.store.CreatePage(t.Context(), actor, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
	if err != nil {
		t.Fatal(err)
	}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := b.counts.LoadOrStore(r.URL.Path, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		s.servers[0].Handler.ServeHTTP(w, r)
	}))
	b.url = backend.URL
	b.stop = sync.OnceFunc(func() {
		s.site.EndStreams()
		backend.CloseClientConnections()
		backend.Close()
		stopWork()
		<-running
	})
	t.Cleanup(b.stop)
	return b
}

// count returns how many requests for a path have reached the backend.
func (b *countingBackend) count(path string) int64 {
	if n, ok := b.counts.Load(path); ok {
		return n.(*atomic.Int64).Load()
	}
	return 0
}

// rename gives the page another name.
func (b *countingBackend) rename(t *testing.T, name string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "PATCH", b.url+"/api/v1/pages/acme",
		strings.NewReader(`{"name":"`+name+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	if status, _, body := do(t, r, "Authorization", "Bearer "+b.token); status != http.StatusOK {
		t.Fatalf("renaming the page: %d %s", status, body)
	}
}

// proxyClient does not compress by itself.
var proxyClient = &http.Client{
	Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 32}, Timeout: 30 * time.Second,
}

// do sends a request with header fields, given as names and values.
func do(t *testing.T, r *http.Request, header ...string) (status int, h http.Header, body string) {
	t.Helper()
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := proxyClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(raw)
}

func get(t *testing.T, url string, header ...string) (status int, h http.Header, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, r, header...)
}

// TestNginxCachesPages runs deploy/nginx/allswell.conf.
func TestNginxCachesPages(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../deploy/nginx/allswell.conf")
	if err != nil {
		t.Fatal(err)
	}
	b := newCountingBackend(t)
	front, log := startNginx(t, string(raw), strings.TrimPrefix(b.url, "http://"))
	page := front + "/status/acme"

	t.Run("a burst of requests", func(t *testing.T) { checkBurst(t, b, page) })

	t.Run("a deleted page is not shown again", func(t *testing.T) {
		checkPageGoes(t, b, front, "deleted", http.StatusNotFound, func() error {
			return b.store.DeletePage(t.Context(), b.actor, "deleted")
		})
	})

	t.Run("a page that became private is not shown again", func(t *testing.T) { checkPrivatePageGoes(t, b, front) })

	t.Run("a change is visible within about a second", func(t *testing.T) { checkChangeIsVisible(t, b, page) })

	t.Run("encodings, languages and entity tags", func(t *testing.T) { checkDocuments(t, page) })

	t.Run("pages at domains of their own", func(t *testing.T) { checkDomains(t, b, front) })

	t.Run("a private page", func(t *testing.T) { checkPrivatePage(t, b, front) })

	t.Run("never cached", func(t *testing.T) { checkNeverCached(t, b, front) })

	t.Run("pings with a long body", func(t *testing.T) { checkLongPings(t, b.url, front) })

	requestSecrets(t, front, 0)

	t.Run("live updates", func(t *testing.T) { checkStreams(t, b, front) })

	t.Run("Allswell is down", func(t *testing.T) { checkServerIsDown(t, b, front) })
	checkSecretsAreNotLogged(t, front, log)
}

// checkBurst checks that only a few of many requests for a page reach Allswell.
func checkBurst(t *testing.T, b *countingBackend, page string) {
	const duration = 3 * time.Second / 2
	before, began := b.count("/status/acme"), time.Now()
	var answered atomic.Int64
	const clients = 20
	visit(t, clients, page, func(status int) bool {
		answered.Add(1)
		if status != http.StatusOK {
			t.Errorf("status %d", status)
		}
		return time.Since(began) < duration
	})
	reached, seconds := b.count("/status/acme")-before, time.Since(began).Seconds()
	t.Logf("%d requests in %.1f s, of which %d reached Allswell", answered.Load(), seconds, reached)
	// requests at the moment when a copy expires
	if float64(reached) > clients*(seconds+1) || answered.Load() < 10*reached {
		t.Errorf("%d of %d requests reached Allswell in %.1f s", reached, answered.Load(), seconds)
	}
}

// checkPrivatePageGoes checks that a page is no longer shown after it became private.
func checkPrivatePageGoes(t *testing.T, b *countingBackend, front string) {
	checkPageGoes(t, b, front, "closed", http.StatusForbidden, func() error {
		if _, err := b.store.ChangePageAccess(
			t.Context(), b.actor, "closed", func(a *statuspage.PageAccess, now time.Time) error {
				a.SetPassword("any", now) // the form is shown, whatever opens it
				return nil
			},
		); err != nil {
			return err
		}
		_, err := b.store.ChangePage(t.Context(), b.actor, "closed", resource.Page.From(statuspage.Page{
			Visibility: statuspage.VisibilityPrivate,
		}))
		return err
	})
}

// checkChangeIsVisible changes the page and waits until it is shown.
func checkChangeIsVisible(t *testing.T, b *countingBackend, page string) {
	get(t, page)
	b.rename(t, "Changed")
	began, tick := time.Now(), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for body := ""; !strings.Contains(body, "Changed"); <-tick.C {
		if time.Since(began) > 4*time.Second { // one second, and time for a busy machine
			t.Fatal("the change is not visible")
		}
		_, _, body = get(t, page)
	}
	t.Logf("visible after %v", time.Since(began).Round(time.Millisecond))
}

// checkNeverCached checks that every request of some paths reaches Allswell.
func checkNeverCached(t *testing.T, b *countingBackend, front string) {
	const pings = ping.Path + "unknown"
	for _, c := range []struct{ method, path string }{
		{"GET", "/api/v1/pages"}, {"GET", pings}, {"POST", pings}, {"HEAD", pings}, {"GET", "/healthz"},
		{"GET", "/readyz"}, {"GET", "/metrics"},
	} {
		before := b.count(c.path)
		for range 3 {
			r, err := http.NewRequestWithContext(t.Context(), c.method, front+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			do(t, r, "Authorization", "Bearer "+b.token)
		}
		if got := b.count(c.path) - before; got != 3 {
			t.Errorf("%s %s: %d of 3 requests reached Allswell", c.method, c.path, got)
		}
	}
}

// checkServerIsDown checks that pages are shown while Allswell is down, and nothing else.
func checkServerIsDown(t *testing.T, b *countingBackend, front string) {
	get(t, front+"/status/acme")
	b.stop()
	status, _, body := get(t, front+"/status/acme")
	if status != http.StatusOK ||
		!strings.Contains(body, "Acme") && !strings.Contains(body, "Changed") &&
			!strings.Contains(body, "Streamed") {
		t.Errorf("the page: %d", status)
	}
	if status, _, _ := get(t, front+"/api/v1/pages"); status != http.StatusBadGateway {
		t.Errorf("the API: %d", status)
	}
}

// visit sends requests for a URL from some clients concurrently, each until next returns false. The clients leave the
// processors time for other tests.
func visit(t *testing.T, clients int, url string, next func(status int) bool) {
	t.Helper()
	var visitors sync.WaitGroup
	for range clients {
		visitors.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for ; ; <-tick.C {
				r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
				if err != nil {
					t.Error(err)
					return
				}
				response, err := proxyClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if !next(response.StatusCode) {
					return
				}
			}
		})
	}
	visitors.Wait()
}

// checkPageGoes creates a public page, lets visitors request it, and makes it disappear: two seconds later they get
// nothing but the status.
func checkPageGoes(t *testing.T, b *countingBackend, front, slug string, want int, disappear func() error) {
	t.Helper()
	_, err := b.store.CreatePage(t.Context(), b.actor, resource.Page.From(statuspage.Page{Name: "Gone", Slug: slug}))
	if err != nil {
		t.Fatal(err)
	}
	url := front + "/status/" + slug
	get(t, url)
	if err := disappear(); err != nil {
		t.Fatal(err)
	}
	var shown, total atomic.Int64
	began := time.Now()
	visit(t, 16, url, func(status int) bool {
		if total.Add(1); status != want && time.Since(began) > 2*time.Second {
			shown.Add(1)
		}
		return time.Since(began) < 4*time.Second
	})
	if shown.Load() > 0 {
		t.Errorf("%d of %d requests got something else than %d more than two seconds later", shown.Load(), total.Load(),
			want)
	}
}

// checkDocuments checks that a page is served in the encoding and the language that the client accepts, and that its
// entity tags work.
func checkDocuments(t *testing.T, page string) {
	t.Helper()
	_, plain, body := get(t, page, "Accept-Language", "en")
	_, zipped, small := get(t, page, "Accept-Language", "en", "Accept-Encoding", "br, gzip, deflate")
	_, refused, _ := get(t, page, "Accept-Language", "en", "Accept-Encoding", "gzip;q=0")
	if plain.Get("Content-Encoding") != "" || zipped.Get("Content-Encoding") != "gzip" ||
		refused.Get("Content-Encoding") != "" {
		t.Errorf("Content-Encoding: %q, %q, %q", plain.Get("Content-Encoding"), zipped.Get("Content-Encoding"),
			refused.Get("Content-Encoding"))
	}
	if len(small) >= len(body) || plain.Get("Etag") == zipped.Get("Etag") ||
		!strings.Contains(plain.Get("Vary"), "Accept-Language") {
		t.Errorf("%d and %d bytes, tags %s and %s, Vary %s", len(body), len(small), plain.Get("Etag"),
			zipped.Get("Etag"), plain.Get("Vary"))
	}
	status, _, rest := get(t, page, "Accept-Language", "en", "If-None-Match", plain.Get("Etag"))
	if status != http.StatusNotModified || rest != "" {
		t.Errorf("If-None-Match: %d with %d bytes", status, len(rest))
	}
	status, _, rest = get(t, page, "Accept-Language",
		"en", "Accept-Encoding", "gzip", "If-None-Match", zipped.Get("Etag"))
	if status != http.StatusNotModified || rest != "" {
		t.Errorf("If-None-Match with gzip: %d with %d bytes", status, len(rest))
	}
	_, _, german := get(t, page, "Accept-Language", "de")
	if !strings.Contains(german, `lang="de"`) || !strings.Contains(body, `lang="en"`) {
		t.Error("a visitor gets the page in the language of another")
	}
}

// checkDomains requests the same path at the domains of two pages in turn: each shows its own page, although the copy
// of the other is in the cache.
func checkDomains(t *testing.T, b *countingBackend, front string) {
	t.Helper()
	domains := []string{"one.example.net", "two.example.net"}
	for _, domain := range domains {
		slug, _, _ := strings.Cut(domain, ".")
		n := resource.Page.From(statuspage.Page{Name: "Page " + slug, Slug: slug, Domain: domain})
		if _, err := b.store.CreatePage(t.Context(), b.actor, n); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		for _, domain := range domains {
			r, err := http.NewRequestWithContext(t.Context(), "GET", front+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = domain
			slug, _, _ := strings.Cut(domain, ".")
			if status, _, body := do(t, r); status != http.StatusOK || !strings.Contains(body, "Page "+slug) {
				t.Errorf("%s: %d, without the name of its page", domain, status)
			}
		}
	}
}

// checkPrivatePage requests addresses of a private page with a token, and then without: strangers get nothing of what
// the token has shown, also not its error page.
func checkPrivatePage(t *testing.T, b *countingBackend, front string) {
	t.Helper()
	n := statuspage.Page{Name: "Secret name", Slug: "private", Visibility: statuspage.VisibilityPrivate}
	if _, err := b.store.CreatePage(t.Context(), b.actor, resource.Page.From(n)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/status/private": http.StatusOK, "/status/private/nothing": http.StatusNotFound,
	} {
		status, _, body := get(t, front+path, "Authorization", "Bearer "+b.token)
		if status != want || !strings.Contains(body, n.Name) {
			t.Errorf("%s with a token: %d, want %d with the name of the page", path, status, want)
		}
		if status, _, body := get(t, front+path); status != http.StatusNotFound || strings.Contains(body, n.Name) {
			t.Errorf("%s without a token: %d; the name of the page is shown: %v", path, status,
				strings.Contains(body, n.Name))
		}
		status, _, body = get(t, front+path, "Authorization", "Bearer "+b.token)
		if status != want || !strings.Contains(body, n.Name) {
			t.Errorf("%s with a token, after others: %d, want %d", path, status, want)
		}
	}
}

// checkStreams opens two event streams of the page and changes it: both are open at the same time, and both get the
// change without delay.
func checkStreams(t *testing.T, b *countingBackend, front string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var streams []*bufio.Scanner
	for range 2 {
		r, err := http.NewRequestWithContext(ctx, "GET", front+"/status/acme/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		got := response.Header.Get("Content-Type")
		if response.StatusCode != http.StatusOK || !strings.HasPrefix(got, "text/event-stream") {
			t.Fatalf("a stream: %d %s", response.StatusCode, got)
		}
		streams = append(streams, bufio.NewScanner(response.Body))
	}
	id := regexp.MustCompile(`^id: ?(.+)`)
	nextID := func(s *bufio.Scanner) string {
		for s.Scan() {
			if found := id.FindStringSubmatch(s.Text()); found != nil {
				return found[1]
			}
		}
		t.Fatalf("a stream ended: %v", s.Err())
		return ""
	}
	first := []string{nextID(streams[0]), nextID(streams[1])}
	b.rename(t, "Streamed")
	for i, s := range streams {
		for nextID(s) == first[i] {
		}
	}
}
