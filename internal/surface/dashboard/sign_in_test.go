package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

func TestFirstStart(t *testing.T) {
	onEachEngine(t, func(s *site) {
		code, err := s.store.IssueSetupCode(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		v := s.visitor()
		v.wants(v.get("/admin/setup?code=WRONG"), http.StatusNotFound, "not valid any more")
		v.wants(v.get("/admin/setup?code="+code), http.StatusOK, `name="password"`, code)
		bad := v.wants(v.post("/admin/setup", "code", code, "name", "<Ada>", "email", "ada", "password", "short"),
			http.StatusUnprocessableEntity,
			`value="&lt;Ada&gt;"`, "must be an e-mail address", "at least 12 characters")
		if strings.Contains(bad.body, "short") {
			s.Error("a password is sent back")
		}
		v.wants(v.post("/admin/setup", "code", code, "name", "Ada", "email", "ada@example.com", "password",
			goodPassword), http.StatusSeeOther, "/admin/setup/page")
		other := s.visitor()
		other.wants(other.post("/admin/setup", "code", code, "name", "Eve", "email", "eve@example.com", "password",
			goodPassword), http.StatusNotFound)

		v.wants(v.get("/admin"), http.StatusOK, "Nothing is watched yet")
		v.wants(v.get("/admin/setup/page"), http.StatusOK, "Your first page")
		v.wants(v.post("/admin/setup/page", "name", "Acme Cloud", "slug", ""), http.StatusSeeOther,
			"/admin/setup/acme-cloud/components")
		v.wants(v.get("/admin/setup/page"), http.StatusSeeOther, "/admin") // there is a page already
		v.wants(v.post("/admin/setup/page", "name", "Acme Cloud", "slug", "acme-cloud"), http.StatusUnprocessableEntity,
			`aria-invalid="true"`)
		v.wants(v.post("/admin/setup/acme-cloud/components", "components", " \n"), http.StatusUnprocessableEntity,
			"between 1 and 50")
		v.wants(v.post("/admin/setup/acme-cloud/components", "components",
			strings.Repeat("Website\n", maxSetupComponents+1)), http.StatusUnprocessableEntity, "between 1 and 50")
		v.wants(v.post("/admin/setup/acme-cloud/components", "components",
			strings.Repeat("Website\n", maxSetupComponents)), http.StatusSeeOther)
		for range 2 { // sent twice, it creates nothing twice
			v.wants(v.post("/admin/setup/acme-cloud/components", "components", "Website\r\n\r\nAPI\r\n"),
				http.StatusSeeOther, "/admin/setup/acme-cloud/monitor")
		}
		components, total, err := s.store.Components().List(s.Context(), v.actor(), "acme-cloud", store.Filter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || total != 2 || components[0].Name != "Website" || components[1].Name != "API" {
			s.Errorf("components %+v, %v", components, err)
		}
		v.wants(v.get("/admin/setup/acme-cloud/monitor"), http.StatusOK, "API</option>")
		v.wants(v.post("/admin/setup/acme-cloud/monitor", "name", "", "interval", "x", "component_id", ""),
			http.StatusUnprocessableEntity, "This field is required.")
		done := v.wants(v.post("/admin/setup/acme-cloud/monitor", "name", "Backup", "interval", "1h", "component_id",
			components[1].ID), http.StatusSeeOther, "/first-ping")
		again := v.wants(v.post("/admin/setup/acme-cloud/monitor", "name", "Backup", "interval", "1h", "component_id",
			components[1].ID), http.StatusSeeOther, "/first-ping")
		if first, second := done.Header.Get("Location"), again.Header.Get("Location"); first != second {
			s.Errorf("sent twice, the form made %s and %s", first, second)
		}
		screen := done.Header.Get("Location")
		waiting := v.wants(v.get(screen), http.StatusOK, "Waiting for the first ping",
			`<a class="plain-button" href="/admin">Go to the overview</a>`, "curl -fsS", "CronJob", "ExecStartPost",
			"urlopen", "fetch(")
		m, err := s.store.Monitor(s.Context(), v.actor(), "backup")
		if err != nil || m.Interval.Minutes() != 75 {
			s.Fatalf("the monitor %+v, %v", m, err)
		}
		if _, err := s.store.RecordPings(
			s.Context(), []string{m.Token}, store.LivenessRecord{Replica: "r"}, store.PingOrigins{},
		); err != nil {
			s.Fatal(err)
		}
		arrived := v.wants(v.get(screen), http.StatusOK, "The first ping has arrived")
		if waiting.Header.Get("ETag") == arrived.Header.Get("ETag") {
			s.Error("the tag of the screen does not change with the first ping")
		}
		v.setsUpCheck("/admin/setup/acme-cloud/monitor", components[0].ID)
	})
}

// setsUpCheck creates the first monitor as a check of a URL, after a test of it.
func (v *visitor) setsUpCheck(path, component string) {
	v.Helper()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("hello"))
	}))
	defer target.Close()
	v.wants(v.get(path), http.StatusOK, `href="`+path+`?type=http"`)
	form := v.wants(v.get(path+"?type=http"), http.StatusOK, `name="url"`, "Test now",
		`<option value="`+component+`" selected>`, `<option value="1m" selected>every minute`, "every day")
	v.lacks(form, "every week") // a check is made at least once a day
	v.wants(v.get(path), http.StatusOK, "every week")
	fields := func(name, url string, more ...string) []string {
		return append([]string{"type", "http", "name", name, "url", url, "interval", "5m", "component_id", component},
			more...)
	}
	v.wants(v.post(path, fields("", "ftp://x")...), http.StatusUnprocessableEntity, `id="e-name"`, `id="e-url"`,
		`value="ftp://x"`)
	v.wants(v.post(path, fields("", "", "preview", "test")...), http.StatusUnprocessableEntity, `id="e-url"`)
	v.wants(v.post(path, fields("", target.URL, "preview", "test")...), http.StatusOK, "Works",
		`value="`+target.URL+`"`)
	v.wants(v.post(path, fields("", "http://127.0.0.1:1/", "preview", "test")...), http.StatusOK, "Failed")
	if _, err := v.store.Monitor(v.Context(), v.actor(), "website"); err == nil {
		v.Error("a test creates a monitor")
	}
	v.wants(v.post(path, fields("Website", target.URL)...), http.StatusSeeOther, "/admin/monitors/mon_")
	m, err := v.store.Monitor(v.Context(), v.actor(), "website")
	if err != nil || m.Type != "http" || m.Interval.Minutes() != 5 || m.ComponentID != component ||
		m.PageSlug != "acme-cloud" {
		v.Errorf("the monitor %+v, %v", m, err)
	}
}

func TestSignIn(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		v := s.visitor()
		v.wants(v.get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		v.wants(v.get("/admin/monitors/x/first-ping?a=b"), http.StatusSeeOther,
			"/admin/sign-in?next="+url.QueryEscape("/admin/monitors/x/first-ping?a=b"))
		wrong := v.wants(v.post("/admin/sign-in", "email", "ada@example.com", "password", "not this one"),
			http.StatusUnprocessableEntity, "is wrong", `value="ada@example.com"`)
		nobody := v.wants(v.post("/admin/sign-in", "email", "eve@example.com", "password", "not this one"),
			http.StatusUnprocessableEntity)
		if strings.ReplaceAll(wrong.body, "ada@", "eve@") != nobody.body {
			s.Error("an unknown account can be told from a wrong password")
		}
		in := v.wants(v.post("/admin/sign-in", "email", " ADA@example.com ", "password", goodPassword),
			http.StatusSeeOther, "/admin")
		c := in.Cookies()[1] // after the one of the known browser
		if c.Name != "allswell" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" ||
			len(c.Value) < 50 {
			s.Errorf("cookie %+v", c)
		}
		v.wants(v.get("/admin"), http.StatusOK, "Ada Lovelace", "Owner")
		first := v.actor()

		// Signing in again ends the session before it.
		v.wants(v.post("/admin/sign-in", "email", "ada@example.com", "password", goodPassword), http.StatusSeeOther)
		if v.actor().SessionID == first.SessionID {
			s.Error("a sign-in continues the session that the browser had")
		}
		if all, err := s.store.Sessions(s.Context(), v.actor()); err != nil || len(all) != 2 {
			s.Errorf("%d sessions, %v; want that of the owner and the new one", len(all), err)
		}
		v.wants(v.post("/admin/sign-out"), http.StatusSeeOther, "/admin/sign-in")
		v.wants(v.get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		owner.wants(owner.get("/admin"), http.StatusOK)
	})
}

func TestSignInLeadsNowhereElse(t *testing.T) {
	for next, want := range map[string]string{
		"/admin/x?y=z": "/admin/x?y=z", "/admin": "/admin", "": "/admin", "/": "/admin", "/administrator": "/admin",
		"//evil.example/admin/":       "/admin",
		"https://evil.example/admin/": "/admin", `/admin/\evil`: "/admin", "/admin/../../evil": "/admin/../../evil",
		"javascript:alert(1)": "/admin", "/admin/\r\nX: y": "/admin",
		`\\evil.example`: "/admin", "admin/x": "/admin",
	} {
		if got := localPath(next); got != want {
			t.Errorf("localPath(%q) = %q, want %q", next, got, want)
		}
	}
}

func TestAttemptsAreLimited(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.owner()
		v := s.visitor()
		for range signInsPerAccount {
			v.wants(v.post("/admin/sign-in", "email", "ada@example.com", "password", "not this one"),
				http.StatusUnprocessableEntity)
		}
		refused := v.wants(v.post("/admin/sign-in", "email", "Ada@example.com", "password", goodPassword),
			http.StatusTooManyRequests, "Too many attempts")
		if after, err := strconv.Atoi(refused.Header.Get("Retry-After")); err != nil || after < 60 || after > 601 {
			s.Errorf("Retry-After %d, %v; want seconds, up to ten minutes", after, err)
		}
		for i := range signInsPerAddress - signInsPerAccount {
			v.wants(v.post("/admin/sign-in", "email", fmt.Sprintf("nobody%d@example.com", i/5), "password", "x"),
				http.StatusUnprocessableEntity)
		}
		v.wants(v.post("/admin/sign-in", "email", "eve@example.com", "password", "x"), http.StatusTooManyRequests)
		v.wants(v.get("/admin/reset?code=x"), http.StatusTooManyRequests)
	})
}

// TestAttemptsTakeLittleMemory checks what is kept of attempts: keys of a fixed length, and none of accounts from an
// address above its limit.
func TestAttemptsTakeLittleMemory(t *testing.T) {
	for _, address := range []string{"192.0.2.1", "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff%eth0"} {
		if key := accountKey(
			netip.MustParseAddr(address), attempter{account: strings.Repeat("x", 300_000), proven: true},
		); len(key) > 100 {
			t.Errorf("from %s, a key has %d bytes", address, len(key))
		}
	}
	limits, start := newSignInLimits(), time.Now()
	take := func(from, account string, after time.Duration) bool {
		r := httptest.NewRequest("POST", "/admin/sign-in", nil)
		r.RemoteAddr = from
		return limits.take(r, attempter{account: account}, start.Add(after)).Allowed
	}
	for range signInsPerAddress {
		take("192.0.2.1:1", "", 0)
	}
	for range signInsPerAccount {
		if take("192.0.2.1:1", "ada@example.com", signInWindow/2) {
			t.Fatal("an attempt above the limit of the address is answered")
		}
	}
	if !take("192.0.2.1:1", "ada@example.com", signInWindow+time.Minute) {
		t.Error("attempts above the limit of the address are kept for the account")
	}

	// One customer has a whole IPv6 network of 64 bits.
	for i := range signInsPerAccount + 1 {
		if got := take(fmt.Sprintf("[2001:db8::%x]:1", i+1), "ada@example.com", 0); got != (i < signInsPerAccount) {
			t.Errorf("attempt %d from a network: %v", i+1, got)
		}
	}
	if !take("[2001:db8:0:1::1]:1", "ada@example.com", 0) {
		t.Error("the attempts of one network count for another")
	}
}

// TestLinksEndThePreviousSession opens links in browsers in which somebody else is signed in.
func TestLinksEndThePreviousSession(t *testing.T) {
	onEachEngine(t, func(s *site) {
		at, err := url.Parse(s.base)
		if err != nil {
			s.Fatal(err)
		}
		// A token can invite people before there is an owner.
		token, _ := storetest.Workspace(s.T, s.store, account.DefaultWorkspace)
		use := func(email, path, code string, fields ...string) {
			s.Helper()
			issued, err := s.store.Invite(s.Context(), token, account.NewInvitation{
				Email: email, Role: kernel.RoleViewer,
			})
			if err != nil {
				s.Fatal(err)
			}
			v := s.visitor()
			v.wants(v.post("/admin/accept", "code", issued.Code, "name", "Eve", "password", goodPassword),
				http.StatusSeeOther, "/admin")
			secret := v.client.Jar.Cookies(at)[0].Value
			v.wants(v.post(path, append(fields, "code", code)...), http.StatusSeeOther)
			v.wants(v.get("/admin"), http.StatusOK, "Ada Lovelace")
			if _, err := s.store.FindSession(s.Context(), secret); !errors.Is(err, kernel.ErrUnauthenticated) {
				s.Errorf("the session before %s: %v", path, err)
			}
		}
		code, err := s.store.IssueSetupCode(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		use("eve@example.com", "/admin/setup", code, "name", "Ada Lovelace", "email", "ada@example.com", "password",
			goodPassword)
		if code, err = s.store.IssueResetCode(s.Context(), "ada@example.com"); err != nil {
			s.Fatal(err)
		}
		use("mallory@example.com", "/admin/reset", code, "password", "another set of words")
	})
}

func TestResetLink(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		code, err := s.store.IssueResetCode(s.Context(), "ada@example.com")
		if err != nil {
			s.Fatal(err)
		}
		v := s.visitor()
		v.wants(v.get("/admin/reset?code="+code), http.StatusOK, "ada@example.com")
		v.wants(v.post("/admin/reset", "code", code, "password", "lovelace ada"), http.StatusUnprocessableEntity,
			"your name")
		v.wants(v.post("/admin/reset", "code", code, "password", "another set of words"), http.StatusSeeOther, "/admin")
		v.wants(v.get("/admin"), http.StatusOK)
		owner.wants(owner.get("/admin"), http.StatusSeeOther, "/admin/sign-in")
		v.wants(v.post("/admin/reset", "code", code, "password", "another set of words"), http.StatusNotFound)
		w := s.visitor()
		w.wants(w.post("/admin/sign-in", "email", "ada@example.com", "password", goodPassword),
			http.StatusUnprocessableEntity)
		w.wants(w.post("/admin/sign-in", "email", "ada@example.com", "password", "another set of words"),
			http.StatusSeeOther)
	})
}

func TestCookieOverHTTPS(t *testing.T) {
	d := &Dashboard{cookie: newCookie(true)}
	if d.cookie.name != "__Host-allswell" || !d.cookie.secure {
		t.Errorf("cookie %+v", d.cookie)
	}
}

// TestPasswordsAreNotNames chooses the own name as a password, in every way to choose one.
func TestPasswordsAreNotNames(t *testing.T) {
	onEachEngine(t, func(s *site) {
		code, err := s.store.IssueSetupCode(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		const weak = "lovelace ada"
		v := s.visitor()
		v.wants(v.post("/admin/setup", "code", code, "name", "Ada Lovelace", "email", "ada@example.com", "password",
			weak), http.StatusUnprocessableEntity, "your name")
		owner := s.owner()
		owner.wants(owner.post("/admin/account/password", "current_password", goodPassword, "password", weak),
			http.StatusUnprocessableEntity, "your name")
		reset, err := s.store.IssueResetCode(s.Context(), "ada@example.com")
		if err != nil {
			s.Fatal(err)
		}
		v.wants(v.post("/admin/reset", "code", reset, "password", weak), http.StatusUnprocessableEntity, "your name")
		issued, err := s.store.Invite(s.Context(), owner.actor(), account.NewInvitation{
			Email: "ada@example.org", Role: kernel.RoleViewer,
		})
		if err != nil {
			s.Fatal(err)
		}
		v.wants(v.post("/admin/accept", "code", issued.Code, "name", "Ada Lovelace", "password", weak),
			http.StatusUnprocessableEntity, "must not be easy to guess")
		v.wants(v.post("/admin/sign-in", "email", "ada@example.com", "password", weak), http.StatusUnprocessableEntity)
		v.wants(v.post("/admin/sign-in", "email", "ada@example.com", "password", goodPassword), http.StatusSeeOther)
	})
}
