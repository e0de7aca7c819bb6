package page

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// newPushTarget returns the subscription of a browser.
func newPushTarget(t *testing.T, endpoint string) audience.PushTarget {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return audience.PushTarget{
		Endpoint: endpoint, P256DH: base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()),
		Auth: base64.RawURLEncoding.EncodeToString(make([]byte, 16)),
	}
}

// TestPageIsAnApp checks the manifest, the icons and the service worker of a page, at its path and at its domain.
func TestPageIsAnApp(t *testing.T) {
	run(t, func(w *fixture) {
		base := "/status/acme"
		page := w.do("GET", base)
		if !strings.Contains(page.Body.String(), `<link rel="manifest" href="`+base+`/manifest.webmanifest">`) ||
			!strings.Contains(page.Header().Get("Content-Security-Policy"), "worker-src 'self'; manifest-src 'self'") {
			t.Errorf("the page lacks the manifest or the policy: %v", page.Header())
		}
		rec := w.do("GET", base+"/manifest.webmanifest")
		var m manifest
		err := json.Unmarshal(rec.Body.Bytes(), &m)
		if err != nil || rec.Header().Get("Content-Type") != "application/manifest+json" {
			t.Fatalf("the manifest: %v %v", err, rec.Header())
		}
		if m.Name != "Acme" || m.StartURL != base+"/" || m.Scope != base+"/" || m.Display != "standalone" ||
			len(m.Icons) != 2 {
			t.Errorf("the manifest: %+v", m)
		}
		for i, size := range appIconSizes {
			icon := w.do("GET", base+"/"+m.Icons[i].Src)
			image, err := png.Decode(bytes.NewReader(icon.Body.Bytes()))
			if err != nil || image.Bounds().Dx() != size || image.Bounds().Dy() != size {
				t.Errorf("%s: %v", m.Icons[i].Src, err)
			}
		}
		if rec := w.do("GET", base+"/app/193.png"); rec.Code != 404 {
			t.Errorf("another size: %d", rec.Code)
		}
		worker := w.do("GET", base+"/worker.js")
		if worker.Code != 200 || !strings.HasPrefix(worker.Header().Get("Content-Type"), "text/javascript") ||
			!strings.Contains(worker.Body.String(), "showNotification") {
			t.Errorf("the service worker: %d %v", worker.Code, worker.Header())
		}
	})
}

// TestPushSignUp subscribes a browser to the end of an incident.
func TestPushSignUp(t *testing.T) {
	run(t, func(w *fixture) {
		inc := w.incident("acme", statuspage.Incident{Title: "Slow"}, "We look into it.")
		path := "/status/acme/incidents/" + inc.ID
		button := `<div class="push" hidden data-worker="/status/acme/worker.js" data-action="/status/acme/push" ` +
			`data-incident="` + inc.ID + `"`
		if body := w.do("GET", path).Body.String(); !strings.Contains(body, button) {
			t.Fatalf("no button: %s", body)
		}
		var key store.PushKey
		if rec := w.do("GET", "/status/acme/push"); rec.Code != 200 || len(rec.Body.String()) != 87 {
			t.Errorf("the key: %d %s", rec.Code, rec.Body)
		} else if key, _ = w.store.PushKey(t.Context()); key.Public != rec.Body.String() {
			t.Errorf("the served key: %s is not %s", rec.Body, key.Public)
		}
		good := newPushTarget(t, "https://fcm.googleapis.com/fcm/send/abcdefghijklmnop")
		list := func() []audience.Subscriber {
			all, _, err := w.store.Subscribers(t.Context(), w.ws, "acme", store.SubscriberFilter{},
				store.Pagination{Page: 1, PerPage: 10})
			return must(w, all, err)
		}
		if got := list(); len(got) != 0 {
			t.Fatalf("the subscribers are %+v, want none", got)
		}
		for range 2 { // a second click changes nothing
			if got := w.push(inc.ID, good, ownOrigin); got != 204 {
				t.Fatalf("signing up: %d, want 204", got)
			}
		}
		subs := list()
		if len(subs) != 1 || subs[0].IncidentID != inc.ID || subs[0].ConfirmedAt.IsZero() ||
			subs[0].Target != "https://fcm.googleapis.com/…mnop" {
			t.Fatalf("the subscribers are %+v", subs)
		}
		state := statuspage.IncidentResolved
		update, err := w.store.PostUpdate(t.Context(), w.ws, inc.ID, statuspage.IncidentUpdate{Message: "Over."},
			func(i *statuspage.Incident) error {
				i.State = state
				return nil
			})
		must(w, update, err)
		got := w.push(inc.ID, newPushTarget(t, "https://fcm.googleapis.com/fcm/send/another"), ownOrigin)
		if got != 422 {
			t.Errorf("an incident that is over: %d", got)
		}
		if body := w.do("GET", path).Body.String(); strings.Contains(body, `class="push"`) {
			t.Error("the button is shown although it is over")
		}
	})
}

func TestInvalidPushSignUp(t *testing.T) {
	run(t, func(w *fixture) {
		inc := w.incident("acme", statuspage.Incident{Title: "Slow"}, "We look into it.")
		good := newPushTarget(t, "https://fcm.googleapis.com/fcm/send/abcdefghijklmnop")
		broken := good
		broken.P256DH = base64.RawURLEncoding.EncodeToString(make([]byte, 65)) // no point of the curve
		for name, c := range map[string]struct {
			incident string
			target   audience.PushTarget
			origin   string
			want     int
		}{
			"another site":            {inc.ID, good, "https://evil.example", 403},
			"a server of an intruder": {inc.ID, newPushTarget(t, "https://push.example.com/x"), ownOrigin, 422},
			"this machine":            {inc.ID, newPushTarget(t, "https://127.0.0.1/x"), ownOrigin, 422},
			"no https":                {inc.ID, newPushTarget(t, "http://fcm.googleapis.com/x"), ownOrigin, 422},
			"a broken key":            {inc.ID, broken, ownOrigin, 422},
			"no incident":             {"x", good, ownOrigin, 400},
			"an unknown incident":     {"01a20e25-2926-787c-a1a6-052cac158a2c", good, ownOrigin, 404},
		} {
			if got := w.push(c.incident, c.target, c.origin); got != c.want {
				t.Errorf("%s: %d, want %d", name, got, c.want)
			}
		}
	})
}

const ownOrigin = "http://localhost:8080"

// push signs a browser up for an incident, and returns the status of the response.
func (w *fixture) push(incident string, target audience.PushTarget, origin string) int {
	w.t.Helper()
	body, err := json.Marshal(struct {
		IncidentID string `json:"incident_id"`
		audience.PushTarget
	}{incident, target})
	if err != nil {
		w.t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/status/acme/push", bytes.NewReader(body))
	r.Host = "localhost:8080"
	r.Header.Set("Origin", origin)
	rec := httptest.NewRecorder()
	w.site.Handler().ServeHTTP(rec, r)
	return rec.Code
}
