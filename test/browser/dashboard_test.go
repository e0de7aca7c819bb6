package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

const goodPassword = "four words at random"

// newInstallation starts a server without accounts, and returns the address that creates the first one.
func newInstallation(t *testing.T) (server *binary.Server, setup string) {
	t.Helper()
	server = binary.NewServer(t, program(t), "ALLSWELL_DATABASE="+storetest.SQLite(t),
		"ALLSWELL_BOOTSTRAP_TOKEN="+token)
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
	p.fillIn("Components", "name", "Acme")
	look(p, v, "setup-components")
	p.fillIn("Your first monitor", "components", "Website\nAPI\nBackups")
	look(p, v, "setup-monitor")
	p.press(".types a[href$='type=http']", "Your first monitor")
	look(p, v, "setup-check")
	p.press(".types a:not([aria-current])", "Your first monitor")
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
	for _, v := range displays {
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
			p.is(`document.body.innerText.includes("No active problems")`)
			look(p, v, "overview")
			if v.width < 600 {
				for _, small := range eval[[]string](p, smallTargets) {
					t.Errorf("a target below 44 pixels: %s", small)
				}
			}
		})
	}
}

// smallTargets names what can be pressed on a phone, and is lower than a finger needs. Links within text are exempt. A
// label can be pressed, too.
const smallTargets = `[...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, summary, .button, nav a")]
	.filter(e => e.checkVisibility() && !e.closest(".theme, .hidden") && ![e, ...e.labels ?? []].some(x => x.getBoundingClientRect().height >= 43.5))
	.map(e => e.outerHTML.slice(0, 120))`
