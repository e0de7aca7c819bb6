package browser

import (
	"os"
	"testing"
)

// opens presses a key, alone or with Ctrl, and waits for the command palette.
func (p *tab) opens(key, code string, control bool) {
	p.t.Helper()
	p.hits(key, code, control)
	p.eventually(`document.activeElement.matches(".palette input")`)
}

// hits presses a key, alone or with Ctrl.
func (p *tab) hits(key, code string, control bool) {
	p.t.Helper()
	modifiers := 0
	if control {
		modifiers = 2
	}
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		p.do("Input.dispatchKeyEvent", params{"type": kind, "key": key, "code": code, "modifiers": modifiers}, nil)
	}
}

// searches types into the command palette, in place of what is selected.
func (p *tab) searches(text string) {
	p.t.Helper()
	p.do("Input.insertText", params{"text": text}, nil)
	p.eventually(`document.activeElement.value === "` + text + `"`)
}

// found is true when the command palette shows the monitor that is searched for. Its incident is found, too.
const found = `document.querySelector(".palette .hit .what")?.innerText === "Order worker"`

// TestCommandPalette finds screens and objects by the keyboard alone.
func TestCommandPalette(t *testing.T) {
	t.Parallel()
	f := furnish(t)
	const closed = `!document.querySelector("dialog[open]")`
	for _, v := range displays {
		t.Run(v.name, func(t *testing.T) {
			p := f.owner.open(t, v, f.base+"/admin/maintenances")
			p.do("Page.bringToFront", nil, nil)
			p.opens("k", "KeyK", true)
			p.eventually(`document.querySelectorAll(".palette .hit").length > 10`)
			p.searches("order wo")
			p.eventually(found)
			look(p, v, "palette")
			p.key("ArrowDown")
			p.eventually(`document.activeElement.matches(".palette .hit")`)
			p.key("ArrowUp")
			p.eventually(`document.activeElement.matches(".palette input")`)
			p.key("Escape")
			p.eventually(closed)
			p.opens("/", "Slash", false)
			p.is(`document.activeElement.value === "order wo"`)
			p.searches("audit log") // Enter does not wait for what is found
			p.enter("Audit log")
			p.is(closed)
			p.load(t, f.base+"/admin/monitors")
			eval[any](p, `document.querySelector("main [type=search]").focus()`)
			p.hits("/", "Slash", false) // belongs to the field
			p.is(closed)
			p.opens("k", "KeyK", true)
			p.searches("no such thing")
			p.enter("Search")
			p.is(`document.querySelector("main").innerText.includes("Nothing has “no such thing”")`)
		})
	}
}

// TestCommandPaletteInJavaScript has axe-core inspect the open palette.
func TestCommandPaletteInJavaScript(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(module(t, "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	f := furnish(t)
	for _, v := range []view{darkPhone, desktop} {
		p := f.owner.open(t, v, f.base+"/admin/maintenances")
		p.do("Page.bringToFront", nil, nil)
		p.opens("k", "KeyK", true)
		p.searches("order wo")
		p.eventually(found)
		for _, fault := range violations(p, string(axe)) {
			t.Errorf("%s: %s", v.name, fault)
		}
	}
}
