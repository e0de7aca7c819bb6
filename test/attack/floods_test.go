package attack

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/allswell/allswell/test/binary"
)

// tokenOf returns an admin token of another workspace.
func (w *environment) tokenOf(workspace string) string {
	w.Helper()
	out, err := w.server.Command("token", "create", "--workspace", workspace, "--name", "attack", "--scope", "admin")
	token := regexp.MustCompile(`aw_\w+`).FindString(out)
	if err != nil || token == "" {
		w.Fatalf("token create: %v: %s", err, out)
	}
	return token
}

// longUpdates makes an incident as long as it can be, and reads it in every form.
func longUpdates(w *environment) {
	var incident binary.Data[struct{ ID string }]
	w.api.Must(w, "POST", "/api/v1/pages/acme/incidents", params{"title": "Long"}, &incident)
	shapes := []string{
		"[a](b", "*a_ ", "> ", "![", "`", "<a ", "- ", "**a", "http://a.b ", "&amp;", "word ", "[a]: /b\n", "|-|\n",
	}
	w.during(w.size(300, 1000), 4, func(i int) {
		shape := shapes[i%len(shapes)]
		message := strings.Repeat(shape, 25_000/len(shape))
		w.api.Must(w, "POST", "/api/v1/incidents/"+incident.Data.ID+"/updates",
			params{"message": "x" + message[:len(message)-1]}, nil)
	})
	paths := []string{
		"", "/history", "/incidents/" + incident.Data.ID, "/history.atom", "/history.rss", "/history.ics",
		"/api/v2/summary.json",
		"/api/v2/incidents.json", "/status.json",
	}
	const maxPage = 4 << 20 // bytes of one document
	w.during(w.size(12, 120)*len(paths), 12, func(i int) {
		path := paths[i%len(paths)]
		status, size := get(client(address(70, i)), "GET", w.server.URL+"/status/acme"+path)
		if status != http.StatusOK && status != http.StatusNotFound && status != http.StatusServiceUnavailable ||
			size > maxPage {
			w.Errorf("%s: %d, %d bytes", path, status, size)
		}
	})
	w.pingsGoOn("long pages")
	for _, path := range paths[:3] {
		if status, _ := get(client(address(71, 1)), "GET", w.server.URL+"/status/acme"+path); status != http.StatusOK {
			w.Errorf("%s after the flood: %d", path, status)
		}
	}
}

// guesses floods everything that can be guessed. What is right works meanwhile:
// the page, an update, a subscription's end.
func guesses(w *environment) {
	over := make(chan struct{})
	var flood sync.WaitGroup
	var sent atomic.Int64
	targets := []func() (method, path string){
		func() (string, string) { return "POST", "/api/v1/heartbeat/" + rand.Text() + "aaaaaa" },
		func() (string, string) { return "GET", "/status/" + strings.ToLower(rand.Text()) },
		func() (string, string) {
			return "GET", "/status/acme/incidents/01234567-89ab-7def-8123-" + strings.ToLower(rand.Text()[:12])
		},
		func() (string, string) { return "POST", "/status/acme/unsubscribe/" + rand.Text() + "aaaaaa" },
		func() (string, string) { return "GET", "/status/acme/subscription/" + rand.Text() + "aaaaaa" },
		func() (string, string) { return "GET", "/api/v1/pages" },
	}
	for n := range 12 {
		flood.Go(func() {
			c := client(address(80, n))
			c.Transport.(*http.Transport).DisableKeepAlives = false
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
				}
				method, path := targets[(i+n)%len(targets)]()
				status, _ := get(c, method, w.server.URL+path, "Authorization", "Bearer aw_"+rand.Text())
				if status == http.StatusInternalServerError ||
					status == http.StatusOK && strings.Contains(path, "heartbeat") {
					w.Errorf("%s %s: %d", method, path, status)
				}
				sent.Add(1)
			}
		})
	}
	w.await("the flood has begun", func() bool { return sent.Load() > 500 })
	c := client(address(81, 1))
	for range w.size(5, 100) {
		if status, _ := get(c, "GET", w.server.URL+"/status/acme"); status != http.StatusOK {
			w.Errorf("the page during the flood: %d", status)
		}
		w.api.Must(w, "POST", "/api/v1/pages/acme/incidents", params{"title": "During the flood"}, nil)
	}
	w.pingsGoOn("the flood")
	close(over)
	flood.Wait()
	w.Logf("%d guesses", sent.Load())
}

// loopbackForms are addresses of this machine, in the forms that guards forget.
var loopbackForms = []string{
	"http://127.0.0.1:%d/", "http://127.1.2.3:%d/", "http://localhost:%d/", "http://[::1]:%d/",
	"http://[::ffff:127.0.0.1]:%d/",
	"http://0.0.0.0:%d/", "http://[::]:%d/",
	"http://2130706433:%d/", "http://0x7f000001:%d/", "http://127.1:%d/", "http://[::ffff:7f00:1%%25lo]:%d/",
}

type webhookDelivery struct {
	Target string
	Reason *string
	State  string
}

// webhooksInside subscribes webhooks at this machine; only loopback, so that a guard that fails lets nothing out. None
// may be called, and the reason shown must not tell an open port from a closed one.
func webhooksInside(w *environment) {
	var called atomic.Int64
	trap := w.trap(&called)
	made := 0
	for _, form := range loopbackForms {
		for _, port := range []int{trap, 1} { // open, closed
			status, err := w.api.Do(w.Context(), "POST", "/api/v1/pages/acme/subscribers",
				params{"channel": "webhook", "target": fmt.Sprintf(form, port)}, nil)
			if err != nil || status != http.StatusCreated && status != http.StatusUnprocessableEntity {
				w.Errorf("a webhook to "+form+": %d, %v", port, status, err)
			}
			if status == http.StatusCreated {
				made++
			}
		}
	}
	if made == 0 {
		w.Fatal("no webhook was taken: nothing was attacked")
	}
	w.api.Must(w, "POST", "/api/v1/pages/acme/incidents", params{"title": "Tell them"}, nil)
	var all []webhookDelivery
	w.await("every webhook was tried", func() bool {
		all = binary.All[webhookDelivery](w, w.api, "/api/v1/pages/acme/deliveries")
		tried := 0
		for _, d := range all {
			if d.Reason != nil {
				tried++
			}
		}
		return tried >= made
	})
	sameReasons(w, all, trap)
	if n := called.Load(); n > 0 {
		w.Errorf("%d webhooks reached this machine", n)
	}
}

// sameReasons checks that the reasons do not tell the port of the trap from a closed one.
func sameReasons(w *environment, all []webhookDelivery, trap int) {
	reasons := make(map[string]map[string]bool) // target without its port -> reasons
	port := strings.NewReplacer(fmt.Sprintf(":%d/", trap), "/", ":1/", "/")
	for _, d := range all {
		target := port.Replace(d.Target)
		if reasons[target] == nil {
			reasons[target] = make(map[string]bool)
		}
		if d.Reason != nil {
			reasons[target][*d.Reason] = true
		}
	}
	for target, texts := range reasons {
		if len(texts) != 1 {
			w.Errorf("reasons for %s tell an open port from a closed one: %v", target, texts)
		}
	}
}

// trap listens on loopback, counts who connects, and
// returns its port.
func (w *environment) trap(called *atomic.Int64) (port int) {
	w.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			called.Add(1)
			conn.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}
