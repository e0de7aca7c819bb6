package browser

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

const goodPassword = "four words at random"

// newInstallation starts a server without accounts, and returns the address that creates the first one.
func newInstallation(t *testing.T) (server *binary.Server, setup string) {
	t.Helper()
	server = binary.NewServer(t, binary.Build(t), "ALLSWELL_DATABASE=sqlite:"+filepath.Join(t.TempDir(), "allswell.db"), "ALLSWELL_BOOTSTRAP_TOKEN="+token)
	server.Start()
	out, err := server.Command("setup-link", "--base-url", server.URL)
	_, link, found := strings.Cut(out, server.URL+"/admin/setup?code=")
	if err != nil || !found {
		t.Fatalf("setup-link: %v: %s", err, out)
	}
	return server, server.URL + "/admin/setup?code=" + strings.Fields(link)[0]
}

// fillIn types into fields of a form by their names, and presses its button, which leads to a screen with a heading.
func (p *tab) fillIn(heading string, fields ...string) {
	p.t.Helper()
	for i := 0; i < len(fields); i += 2 {
		eval[any](p, fmt.Sprintf(`document.querySelector("main [name=%s]").value = %q`, fields[i], fields[i+1]))
	}
	p.press("main form .button", heading)
}

// setUp goes through the first start until the first ping is awaited.
func (p *tab) setUp(v view) {
	p.t.Helper()
	look(p, v, "setup-account")
	p.fillIn("Your first page", "name", "Ada Lovelace", "email", "ada@example.com", "password", goodPassword)
	look(p, v, "setup-page")
	p.fillIn("What it shows", "name", "Acme")
	look(p, v, "setup-components")
	p.fillIn("Your first monitor", "components", `Website\nAPI\nBackups`)
	look(p, v, "setup-monitor")
	p.fillIn("Nightly backup", "name", "Nightly backup")
	look(p, v, "setup-ping")
}

// ping sends the ping that the screen of the first ping shows.
func (p *tab) ping() {
	p.t.Helper()
	words := strings.Fields(eval[string](p, `document.querySelector("pre").textContent`))
	response, err := http.Post(words[len(words)-1], "", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		p.t.Fatalf("the ping: %s", response.Status)
	}
}

// TestFirstStartInABrowser goes from the printed link to the first ping, which turns the screen green by itself.
func TestFirstStartInABrowser(t *testing.T) {
	t.Parallel()
	for _, v := range []view{{name: "360", width: 360, height: 740}, views[3]} {
		t.Run(v.name, func(t *testing.T) {
			server, link := newInstallation(t)
			p := newBrowser(t).open(t, v, link)
			p.setUp(v)
			p.is(`document.querySelector("#lead").innerText.includes("Waiting for the first ping")`)
			p.ping()
			p.eventually(`document.querySelector("#lead.arrived") !== null`)
			look(p, v, "setup-arrived")
			p.press("#lead .button", "Nightly backup Up")
			look(p, v, "monitor")
			p.load(t, server.URL+"/admin")
			p.is(`document.body.innerText.includes("Nothing is wrong")`)
			look(p, v, "overview")
			if v.width < 600 {
				for _, small := range eval[[]string](p, smallTargets) {
					t.Errorf("a target below 44 pixels: %s", small)
				}
			}
		})
	}
}

// smallTargets names what can be pressed on a phone, and is lower than a finger needs. Links within text are exempt.
const smallTargets = `[...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, summary, .button, nav a")]
	.filter(e => e.checkVisibility() && !e.closest(".theme") && e.getBoundingClientRect().height < 43.5).map(e => e.outerHTML.slice(0, 120))`

// pressEnter presses Enter, which is a character, too.
func (p *tab) pressEnter() {
	p.t.Helper()
	event := params{"type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
	p.do("Input.dispatchKeyEvent", event, nil)
	event["type"] = "keyUp"
	p.do("Input.dispatchKeyEvent", event, nil)
}

// enter presses Enter, and waits for the screen that it leads to.
func (p *tab) enter(heading string) {
	p.t.Helper()
	p.pressEnter()
	select {
	case <-p.loaded:
	case <-time.After(browserTimeout):
		p.t.Fatalf("nothing has loaded %v after Enter", browserTimeout)
	}
	if got := eval[string](p, `document.querySelector("h1").innerText`); got != heading {
		p.t.Fatalf("Enter leads to %q, not %q", got, heading)
	}
}

// types presses Tab until a field has the focus, and types into it.
func (p *tab) types(field, text string) {
	p.t.Helper()
	p.tabTo("[name=" + field + "]")
	p.do("Input.insertText", params{"text": text}, nil)
}

func (p *tab) tabTo(selector string) {
	p.t.Helper()
	for range 60 {
		if eval[bool](p, `document.activeElement.matches("`+selector+`")`) {
			return
		}
		p.key("Tab")
	}
	p.t.Fatalf("the keyboard does not reach %s", selector)
}

// TestDashboardByKeyboard sets up, signs out and in, and creates a token without a pointer.
func TestDashboardByKeyboard(t *testing.T) {
	t.Parallel()
	v := views[2]
	_, link := newInstallation(t)
	p := newBrowser(t).open(t, v, link)
	p.do("Page.bringToFront", nil, nil)
	p.types("name", "Ada Lovelace")
	p.types("email", "ada@example.com")
	p.types("password", "short")
	p.tabTo("main .button")
	p.enter("Create your account")
	p.is(`document.activeElement.name === "password"`, `document.querySelector("[name=name]").value === "Ada Lovelace"`,
		`document.querySelector("#" + document.activeElement.getAttribute("aria-describedby")).innerText.includes("at least 12 characters")`)
	p.types("password", goodPassword)
	p.enter("Your first page")
	p.types("name", "Acme")
	p.enter("What it shows")
	p.tabTo("main .actions a")
	p.enter("Your first monitor")
	p.tabTo("main .actions a")
	p.enter("Overview")

	p.tabTo("form[action='/admin/sign-out'] button")
	p.enter("Sign in")
	p.types("email", "ada@example.com")
	p.types("password", "not this one")
	p.enter("Sign in")
	p.types("password", goodPassword)
	p.enter("Overview")

	p.tabTo("nav a[href='/admin/tokens']")
	p.enter("API tokens")
	p.types("name", "ci")
	p.enter("API tokens")
	p.is(`/^aw_\w{49}$/.test(document.querySelector(".issued pre").innerText)`)
	p.tabTo(".confirm summary")
	p.pressEnter()
	p.tabTo(".confirm .button")
	p.enter("API tokens")
	p.is(`document.querySelector("main").innerText.includes("revoked")`)
}

// screens are screens of the dashboard by name.
var screens = map[string]string{
	"overview": "/admin", "deliveries": "/admin/deliveries", "tokens": "/admin/tokens", "audit": "/admin/audit", "system": "/admin/system",
	"setup-page": "/admin/setup/page", "setup-components": "/admin/setup/acme/components", "setup-monitor": "/admin/setup/acme/monitor",
	"incidents": "/admin/incidents", "incident-new": "/admin/incidents/new?page=acme", "members": "/admin/members", "account": "/admin/account", "authenticator": "/admin/account/authenticator",
	"nowhere": "/admin/nowhere",
}

// furnished starts a server, signs a tab in to its dashboard, and creates something for each screen, with names that
// would run as scripts if they were not escaped.
func furnished(t *testing.T) (*binary.Server, *browser) {
	t.Helper()
	server, link := newInstallation(t)
	c := newBrowser(t)
	p := c.open(t, views[2], link)
	p.setUp(views[2])
	client := binary.NewClient(server.URL, token)
	for _, name := range []string{markup, longWord, "مرحبا 🦊 “quoted” '&amp;"} {
		client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": name}, nil)
		client.Must(t, "POST", "/api/v1/tokens", params{"name": name, "scope": "read"}, nil)
		client.Must(t, "POST", "/api/v1/pages/acme/incidents", params{"title": name, "impact": "minor", "message": name}, nil)
		client.Must(t, "POST", "/api/v1/monitors", params{"name": name, "interval": 60}, nil)
	}
	client.Must(t, "POST", "/api/v1/pages/acme/subscribers", params{"channel": "email", "target": "name@example.com"}, nil)
	return server, c
}

// TestDashboardScreens looks at every screen of the dashboard on every display, and has axe-core and html-validate read it.
func TestDashboardScreens(t *testing.T) {
	t.Parallel()
	server, c := furnished(t)
	for _, v := range views {
		p := c.open(t, v, "about:blank")
		for name, path := range screens {
			t.Run(name+"/"+v.name, func(t *testing.T) {
				p.load(t, server.URL+path)
				if name != "nowhere" {
					look(p, v, "dashboard-"+name)
				}
			})
		}
	}
}

// TestDashboardAccessibility runs axe-core over every screen, and html-validate over its markup.
func TestDashboardAccessibility(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(module(t, "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	program := module(t, ".bin/html-validate")
	server, c := furnished(t)
	folder := t.TempDir()
	for _, v := range views[1:3] { // small and dark, large and light
		p := c.open(t, v, "about:blank")
		for name, path := range screens {
			t.Run(name+"/"+v.name, func(t *testing.T) {
				p.load(t, server.URL+path)
				for _, fault := range violations(p, string(axe)) {
					t.Error(fault)
				}
				source := await[string](p, `fetch(location.href).then(r => r.text())`)
				if err := os.WriteFile(filepath.Join(folder, name+".html"), []byte(source), 0o644); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	for _, fault := range markupFaults(t, program, folder) {
		t.Error(fault)
	}
}
