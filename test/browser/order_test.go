package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/allswell/allswell/test/binary"
)

// orderOf returns the groups of a document with their components: "(none): API Website / Europe: Mail".
const orderOf = `((document) => [...document.querySelectorAll(".rows[data-group]")].map((list) => (list.dataset.name || "(none)") + ":" +
	[...list.querySelectorAll(".component .name a")].map((name) => " " + name.textContent).join("")).join(" / "))`

const shownOrder = orderOf + `(document)`

// handle is the handle of a component or a group.
func handle(name string) string { return fmt.Sprintf(`.handle[data-name='%s']`, name) }

// centre returns the middle of what matches a selector.
func (p *tab) centre(selector string) (x, y float64) {
	p.t.Helper()
	at := eval[[]float64](p,
		`(() => { const r = document.querySelector("`+selector+
			`").getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2] })()`)
	return at[0], at[1]
}

// middle returns where the middle of the row or the group of a handle is.
func (p *tab) middle(handle string) float64 {
	p.t.Helper()
	return eval[float64](p,
		`(() => { const r = document.querySelector("`+handle+
			`").closest(".component, .group").getBoundingClientRect(); return (r.top + r.bottom) / 2 })()`)
}

// drags drags a handle to a bit above or below the middle of the row or group of another, with the mouse or a finger.
func (p *tab) drags(touch bool, from, to string, by float64) {
	p.t.Helper()
	_, y := p.centre(from)
	end := p.middle(to)
	// away from the edges, at which the page scrolls
	eval[any](p, fmt.Sprintf(`scrollBy(0, %f - innerHeight / 2)`, (y+end)/2))
	x, y := p.centre(from)
	end = p.middle(to) + by
	for i, at := range []float64{y, (y + end) / 2, end, end} {
		if touch {
			kind, points := []string{"touchStart", "touchMove", "touchMove", "touchEnd"}[i], []params{{"x": x, "y": at}}
			if kind == "touchEnd" {
				points = []params{}
			}
			p.do("Input.dispatchTouchEvent", params{"type": kind, "touchPoints": points}, nil)
			continue
		}
		kind := []string{"mousePressed", "mouseMoved", "mouseMoved", "mouseReleased"}[i]
		p.do("Input.dispatchMouseEvent",
			params{"type": kind, "x": x, "y": at, "button": "left", "buttons": 1, "clickCount": 1}, nil)
	}
}

// orderIs waits until a screen shows an order and the server has saved it.
func (p *tab) orderIs(want string) {
	p.t.Helper()
	p.eventually(shownOrder + ` === "` + want + `"`)
	eval[any](p, `(async () => {
		while (window.saved !== "`+want+`") {
			const text = await (await fetch(location.href)).text();
			window.saved = `+orderOf+`(new DOMParser().parseFromString(text, "text/html"));
		}
	})(), 0`)
	p.eventually(`window.saved === "` + want + `"`)
	p.reload()
}

// TestOrderOfComponents moves components and groups with the mouse, a finger and the keyboard, and after somebody else.
func TestOrderOfComponents(t *testing.T) {
	t.Parallel()
	server, setup := newInstallation(t)
	client := binary.NewClient(server.URL, token)
	p := newBrowser(t).open(t, desktop, setup)
	p.fillIn("Your first page", "name", "Ada Lovelace", "email", "ada@example.com", "password", goodPassword)
	p.fillIn("Components", "name", "Acme")
	p.fillIn("Your first monitor", "components", "Website\nAPI")
	var europe binary.Data[created]
	client.Must(t, "POST", "/api/v1/pages/acme/groups", params{"name": "Europe"}, &europe)
	client.Must(t, "POST", "/api/v1/pages/acme/groups", params{"name": "Asia"}, nil)
	client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": "Mail", "group": europe.Data.ID}, nil)
	screen := server.URL + "/admin/pages/acme/components"

	for _, v := range []view{desktop, darkPhone} {
		p.show(v)
		p.do("Emulation.setTouchEmulationEnabled", params{"enabled": v.width < 600}, nil)
		p.load(t, screen)
		p.orderIs("(none): Website API / Europe: Mail / Asia:")
		touch := v.width < 600
		p.drags(touch, handle("API"), handle("Website"), -4)
		p.orderIs("(none): API Website / Europe: Mail / Asia:")
		p.drags(touch, handle("API"), handle("Mail"), 4)
		p.orderIs("(none): Website / Europe: Mail API / Asia:")
		p.drags(touch, handle("Asia"), handle("Europe"), -4)
		p.orderIs("(none): Website / Asia: / Europe: Mail API")
		look(p, v, "order")

		p.tabTo(handle("API"))
		p.key("ArrowUp")
		p.key("ArrowUp")
		p.is(`document.activeElement.matches("`+handle("API")+`")`,
			`[...document.querySelectorAll("[aria-live]")].some((e) => e.textContent === "API: 1 of 1 in Asia")`)
		p.orderIs("(none): Website / Asia: API / Europe: Mail")
		p.tabTo(handle("API"))
		p.key("ArrowUp")
		p.orderIs("(none): Website API / Asia: / Europe: Mail")
		p.tabTo(handle("Asia"))
		p.key("ArrowDown")
		p.orderIs("(none): Website API / Europe: Mail / Asia:")
	}
	p.refusesStaleMove(client)
}

// refusesStaleMove changes the order behind a screen that does not hear of it, and moves there.
func (p *tab) refusesStaleMove(client *binary.Client) {
	p.t.Helper()
	p.do("Network.setBlockedURLs", params{"urls": []string{"*/admin/live*"}}, nil)
	p.reload()
	client.Must(p.t, "POST", "/api/v1/pages/acme/components", params{"name": "Search"}, nil)
	p.tabTo(handle("API"))
	p.key("ArrowUp")
	p.eventually(`document.querySelector("[role=alert]")?.innerText.includes("Someone else has changed the order")`)
	const before = "(none): Website API / Europe: Mail / Asia:"
	if got := eval[string](p, shownOrder); got != before {
		p.t.Errorf("a refused move leaves %q", got)
	}
	p.reload()
	if got, want := eval[string](p, shownOrder), strings.Replace(before, "API", "API Search", 1); got != want {
		p.t.Errorf("after a refused move: %q, want %q", got, want)
	}
}
