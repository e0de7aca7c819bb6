package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// What people do with the keyboard alone.

// strike presses the key of a character.
func (p *tab) strike(key, code, text string) {
	p.t.Helper()
	event := params{"type": "keyDown", "key": key, "code": code, "text": text}
	if key == "Enter" {
		event["windowsVirtualKeyCode"] = 13
	}
	p.do("Input.dispatchKeyEvent", event, nil)
	event["type"] = "keyUp"
	p.do("Input.dispatchKeyEvent", event, nil)
}

// pressEnter presses Enter, which is a character, too.
func (p *tab) pressEnter() { p.strike("Enter", "Enter", "\r") }

// check presses the space bar on a box or a button.
func (p *tab) check(selector string) {
	p.t.Helper()
	p.tabTo(selector)
	p.strike(" ", "Space", " ")
}

// enter presses Enter, and waits for the screen that it leads to.
func (p *tab) enter(heading string) {
	p.t.Helper()
	select {
	case <-p.loaded: // of an earlier screen
	default:
	}
	focused := eval[string](p, `document.activeElement.outerHTML.slice(0, 200)`)
	p.pressEnter()
	select {
	case <-p.loaded:
	case <-time.After(browserTimeout):
		p.t.Fatalf("nothing has loaded %v after Enter on %s; now %s; the last requests: %q", browserTimeout, focused,
			eval[string](p, whereabouts), p.lastRequests(5))
	}
	if got := eval[string](p, `document.querySelector("h1").innerText`); got != heading {
		p.t.Fatalf("Enter leads to %q, not %q: %s", got, heading,
			eval[string](p, `document.querySelector("main").innerText`))
	}
	p.is(`document.documentElement.scrollWidth <= innerWidth`)
	if eval[int](p, `innerWidth`) < 600 {
		for _, small := range eval[[]string](p, smallTargets) {
			p.t.Errorf("%s: a target below 44 pixels: %s", heading, small)
		}
	}
}

// whereabouts says what a tab shows.
const whereabouts = `document.readyState + " " + location + ", the focus on " + ` +
	`document.activeElement.outerHTML.slice(0, 200)`

// lastRequests returns the last n requests of the tab.
func (p *tab) lastRequests(n int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests[max(0, len(p.requests)-n):])
}

// follow goes to what matches a selector, and presses Enter.
func (p *tab) follow(selector, heading string) {
	p.t.Helper()
	p.tabTo(selector)
	p.enter(heading)
}

// goTo opens the menu of a phone, and follows its link.
func (p *tab) goTo(path, heading string) {
	p.t.Helper()
	p.tabTo(".menu > summary")
	p.pressEnter()
	p.follow(".menu nav a[href='"+path+"']", heading)
}

// types presses Tab until a field has the focus, and types into it, in place of what it has.
func (p *tab) types(field, text string) {
	p.t.Helper()
	p.tabTo("main [name='" + field + "']")
	const control = 2
	p.do("Input.dispatchKeyEvent",
		params{
			"type": "rawKeyDown", "key": "a", "code": "KeyA", "modifiers": control, "commands": []string{"selectAll"},
		},
		nil)
	p.do("Input.dispatchKeyEvent", params{"type": "keyUp", "key": "a", "code": "KeyA"}, nil)
	p.do("Input.insertText", params{"text": text}, nil)
}

// picks types a day and a time into a field, as Americans write them: 12312030 and 1030AM.
func (p *tab) picks(field, day, clock string) {
	p.t.Helper()
	p.tabTo("main [name='" + field + "']")
	for _, c := range day {
		p.strike(string(c), "", string(c))
	}
	p.key("ArrowRight")
	for _, c := range clock {
		p.strike(string(c), "", string(c))
	}
	p.is(`document.activeElement.value !== ""`)
}

// chooses types the beginning of an option of a list.
func (p *tab) chooses(field, option string) {
	p.t.Helper()
	p.tabTo("main [name='" + field + "']")
	for _, c := range option {
		p.strike(string(c), "", string(c))
	}
	p.is(`document.activeElement.selectedOptions[0].label.startsWith("` + option + `")`)
}

// tabTo presses Tab until what matches a selector has the focus. It presses it several times before it asks where the
// focus is: a listener keeps it where it has arrived.
func (p *tab) tabTo(selector string) {
	p.t.Helper()
	const atOnce, most = 4, 90
	for range most / atOnce {
		if eval[bool](p, fmt.Sprintf(arrived, selector)) {
			return
		}
		for range atOnce {
			p.pressDown("Tab")
		}
	}
	p.t.Fatalf("the keyboard does not reach %s in %s", selector,
		eval[string](p, `document.querySelector("main").outerHTML`))
}

// arrived is true where a selector has the focus. Until then, it makes the focus stay there.
const arrived = `(() => {
	const there = () => document.activeElement.matches("%s");
	removeEventListener("keydown", window.stay, true);
	if (there()) return true;
	window.stay = (e) => { if (there()) e.preventDefault(); };
	addEventListener("keydown", window.stay, true);
	return false;
})()`

// says holds the screen to a text.
func (p *tab) says(text string) {
	p.t.Helper()
	p.is(`document.querySelector("main").innerText.includes("` + text + `")`)
}

// downloads presses Enter on a link or button, and waits for the file, whose name matches a pattern.
func (c *browser) downloads(p *tab, selector, pattern string) {
	p.t.Helper()
	dir := p.t.TempDir()
	_, err := c.call("",
		"Browser.setDownloadBehavior", params{"behavior": "allow", "browserContextId": c.context, "downloadPath": dir})
	if err != nil {
		p.t.Fatal(err)
	}
	p.tabTo(selector)
	p.pressEnter()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(browserTimeout); time.Now().Before(deadline); <-tick.C {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			p.t.Fatal(err)
		}
		if len(files) > 0 {
			if info, err := os.Stat(files[0]); err == nil && info.Size() > 0 {
				return
			}
		}
	}
	p.t.Fatalf("no file %s has come", pattern)
}
