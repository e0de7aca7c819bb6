package browser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
)

// The displays that every screen of the dashboard has to fit: the smallest phone that it is made for, and a desktop.
// The short form leaves out animations, which take a fifteenth of the processor time.
var (
	phone       = view{name: "360", width: 360, height: 740, still: !full}
	darkPhone   = view{name: "360-dark", width: 360, height: 740, dark: true, still: !full}
	desktop     = view{name: "1280", width: 1280, height: 800, still: !full}
	darkDesktop = view{name: "1280-dark", width: 1280, height: 800, dark: true, still: !full}
)

// allDisplays is set in .ci/run: every screen is seen on all displays. Otherwise each is seen on one, by turns on a
// phone and a desktop.
var allDisplays = os.Getenv("ALLSWELL_TEST_ALL_DISPLAYS") != ""

// full is set in .ci/run: every screen is seen and walked through by keyboard, and has its animations. Otherwise every
// third one is seen.
var full = os.Getenv(storetest.Full) == "1"

// displays are those that a test looks at.
var displays = func() []view {
	if allDisplays {
		return []view{phone, darkPhone, desktop, darkDesktop}
	}
	return []view{phone, darkDesktop}
}()

// phones are those on which people do their tasks.
var phones = func() []view {
	if allDisplays {
		return []view{phone, darkPhone}
	}
	return []view{darkPhone}
}()

// notScreens are the routes that show no screen, or show one only to people with a code.
var notScreens = map[string]string{
	"/admin/live":                                "a stream of events",
	"/admin/audit/export":                        "a file",
	"/admin/pages/{page}/subscribers/export":     "a file",
	"/admin/pages/{page}/images/{kind}":          "an image",
	"/admin/monitors/{monitor}/signals/{signal}": "the output of a job, as text",
	"/admin/visit/{page}":                        "leads to the page",
	"/admin/pages/{page}/preview":                "is the public page in a frame, drawn smaller",
	"/admin/enter":                               "signs in with a code",
	"/admin/oidc/start":                          "leads to the provider",
	"/admin/setup":                               "is seen before the first account",
	"/admin/reset":                               "needs a code",
	"/admin/accept":                              "needs a code",
	"/admin/confirm-address":                     "needs a code",
	"/admin/alert-link":                          "needs the key of a message",
	"/admin/on-call.ics":                         "a file",
	"/admin/sign-in":                             "is for people who are not signed in",
	"/admin/forgot":                              "is for people who are not signed in",
}

// variants are queries, or other endings, with which a screen looks different.
var variants = map[string][]string{
	"/admin/alerts":                     {"?state=resolved", "?monitor={monitor}", "?event=service.gap"},
	"/admin/silences":                   {"?ended=true"},
	"/admin/silences/new":               {"?alert={alert}"},
	"/admin/incidents/new":              {"?page=acme", "?page=acme&template={template}"},
	"/admin/incidents":                  {"?page=empty"},
	"/admin/maintenances/new":           {"?page=acme"},
	"/admin/monitors":                   {"?state=down", "?search=nothing", "?tag=nightly", "?type=http"},
	"/admin/monitors/{monitor}":         {"/../{checked}"},
	"/admin/monitors/{monitor}/edit":    {"/../../{checked}/edit"},
	"/admin/monitors/delete":            {"?monitor={monitor}"},
	"/admin/monitors/pause":             {"?monitor={monitor}"},
	"/admin/search":                     {"?q=n", "?q=nothing+at+all"},
	"/admin/monitors/new":               {"?copy={monitor}", "?type=http"},
	"/admin/deliveries":                 {"?page=acme", "?page=empty"},
	"/admin/audit":                      {"?kind=token"},
	"/admin/pages/{page}/announcements": {"/../../empty/announcements"},
	"/admin/pages/{page}/components":    {"/../../empty/components"},
	"/admin/pages/{page}/subscribers":   {"/../../empty/subscribers", "?search=nothing"},
	"/admin/pages/{page}/access":        {"/../../empty/access"},
	"/admin/pages/{page}/share":         {"/../../empty/share"},
	"/admin/pages/{page}/ping-key":      {"/../../empty/ping-key"},
}

// screen is a screen with a name for its files.
type screen struct{ name, url string }

// screens returns all screens of the dashboard, which it finds in the tables of routes. A screen that is new is there
// by itself.
func (f *furnished) screens(t *testing.T) (all []screen) {
	t.Helper()
	tables, err := filepath.Glob("../../internal/surface/dashboard/*/routes.go")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, path := range tables {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		table.Write(text)
	}
	var with []string
	for name, id := range f.ids {
		with = append(with, "{"+name+"}", id)
	}
	for _, route := range regexp.MustCompile(`\("GET (/admin[^"]*)"`).FindAllStringSubmatch(table.String(), -1) {
		if notScreens[route[1]] != "" {
			continue
		}
		for _, variant := range append([]string{""}, variants[route[1]]...) {
			path := strings.NewReplacer(with...).Replace(route[1] + variant)
			if strings.Contains(path, "{") {
				t.Errorf("%s: furnish has nothing for it", path)
			}
			all = append(all, screen{screenName(route[1] + variant), f.base + path})
		}
	}
	if len(all) < 40 {
		t.Fatalf("the table has only %d screens", len(all))
	}
	return all
}

// screenName returns the name of the screen at a path.
func screenName(path string) string {
	_, path, _ = strings.Cut(path, "/admin")
	return cmp.Or(strings.Trim(regexp.MustCompile(`\W+`).ReplaceAllString(path, "-"), "-"), "overview")
}

// inspection looks at screens for what is wrong with them, one after the other.
type inspection struct {
	axe      string // the program; "": not run
	folder   string // for the markup; "": not saved
	answer   bool   // the screens answer a form, which may be refused
	displays []view // on which it looks at screens, by turns, unless at each on all
	seen     int    // screens so far
}

// turn returns the displays on which to look at the next screen, and whether to walk through it. The short form walks
// through two thirds of those that it sees on a phone.
func (i *inspection) turn() (on []view, walked bool) {
	i.seen++
	on = displays
	if !allDisplays {
		n := i.seen % len(i.displays)
		on = i.displays[n : n+1]
	}
	return on, i.axe == "" && (full || on[0] == phone && i.seen%3 > 0)
}

// visit loads a screen and inspects it.
func (i *inspection) visit(t *testing.T, p *tab, s screen) {
	t.Helper()
	p.load(t, s.url)
	i.inspect(p, s.name)
}

// inspect inspects the loaded screen.
func (i *inspection) inspect(p *tab, name string) {
	p.t.Helper()
	if i.folder != "" && eval[bool](p, `performance.getEntriesByType("navigation")[0].type === "navigate"`) {
		source := await[string](p, `fetch(location.href).then(r => r.text())`)
		if err := os.WriteFile(filepath.Join(i.folder, name+".html"), []byte(source), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
	on, walked := i.turn()
	if walked {
		p.show(phone)
		for _, fault := range p.walk() {
			p.t.Errorf("%s: by keyboard: %s", name, fault)
		}
	}
	for _, v := range on {
		p.show(v)
		for _, fault := range faults(p, v) {
			if i.answer && strings.Contains(fault, "422") {
				continue
			}
			p.t.Errorf("%s on %s: %s", name, v.name, fault)
		}
		for _, fault := range i.violations(p, v) {
			p.t.Errorf("%s on %s: %s", name, v.name, fault)
		}
		if v.width < 600 {
			for _, small := range eval[[]string](p, smallTargets) {
				p.t.Errorf("%s on %s: a target below 44 pixels: %s", name, v.name, small)
			}
		}
		if dir := os.Getenv(keepScreenshots); dir != "" {
			err := os.WriteFile(filepath.Join(dir, "dashboard-"+name+"-"+v.name+".png"), p.screenshot(true), 0o644)
			if err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// violations returns what axe-core has against the screen: everything on light displays, contrast alone on the dark
// phone.
func (i *inspection) violations(p *tab, v view) []string {
	p.t.Helper()
	switch {
	case i.axe == "" || v == darkDesktop:
		return nil
	case v == phone:
		p.do("Runtime.evaluate", params{"expression": i.axe}, nil)
	}
	return await[[]string](p,
		fmt.Sprintf(axeViolations, map[bool]string{true: `, runOnly: ["color-contrast"]`}[v.dark]))
}

// walk presses Tab until the focus has been everywhere, and returns what it does not reach, where it cannot be seen,
// and what covers it. It begins again when the screen shows something new, which moves the focus.
func (p *tab) walk() []string {
	p.t.Helper()
	for range 5 {
		count := eval[int](p, startWalk)
		for range count + 2 {
			p.pressDown("Tab")
		}
		if faults := eval[[]string](p, `walked()`); faults != nil {
			return faults
		}
	}
	return []string{"it never rests"}
}

// startWalk begins to record where the focus is before each Tab, and returns how many times to press it: a radio group
// is one place, a date several.
const startWalk = `(() => {
	document.activeElement.blur();
	const group = e => e.type === "radio" ? e.form.querySelector('input[name="' + e.name + '"]:checked') ?? e : e;
	const places = new Set([...document.querySelectorAll("a[href], button, input, select, textarea, summary, pre[tabindex]")]
		.filter(e => e.tabIndex >= 0 && !e.disabled && !e.closest("fieldset[disabled]") && e.checkVisibility({visibilityProperty: true})).map(group));
	const been = new Set(), faults = [];
	let replaced = false;
	document.addEventListener("allswell:replaced", () => { replaced = true; });
	const look = () => {
		const e = document.activeElement, style = getComputedStyle(e), box = e.getClientRects()[0];
		if (!places.has(e) || been.has(e)) return;
		been.add(e);
		if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) faults.push("no outline: " + e.outerHTML.slice(0, 120));
		if (!box || box.bottom <= 0 || box.top >= innerHeight) return faults.push("out of sight: " + e.outerHTML.slice(0, 120));
		const x = Math.min(innerWidth - 2, box.left + Math.min(8, box.width / 2)), y = Math.max(1, Math.min(innerHeight - 2, box.top + box.height / 2));
		const top = document.elementFromPoint(x, y);
		if (top && !e.contains(top) && !top.contains(e) && !e.labels?.[0]?.contains(top)) faults.push("covered by " + top.outerHTML.slice(0, 60) + ": " + e.outerHTML.slice(0, 120));
	};
	addEventListener("keydown", look, true);
	window.walked = () => {
		look();
		removeEventListener("keydown", look, true);
		document.activeElement.blur();
		return replaced ? null : faults.concat([...places].filter(e => !been.has(e)).map(e => "not reached: " + e.outerHTML.slice(0, 120)));
	};
	return places.size + 8 * document.querySelectorAll('input[type^="date"], input[type="time"]').length;
})()`

// TestDashboardScreens inspects every screen of the dashboard: what is faint, wider than the display,
// too small for a finger, or hidden from the keyboard, and what the browser complains about.
func TestDashboardScreens(t *testing.T) {
	t.Parallel()
	inspectAll(t, inspection{})
}

// TestDashboardScreensInJavaScript has axe-core inspect every screen, and html-validate read its markup.
func TestDashboardScreensInJavaScript(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile(module(t, "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	program := module(t, ".bin/html-validate")
	i := inspection{axe: string(axe), folder: t.TempDir()}
	inspectAll(t, i)
	for _, fault := range markupFaults(t, program, i.folder) {
		t.Error(fault)
	}
}

// answers are screens that answer a form with no address of their own: where the form is, what is typed, and which
// button sends it.
var answers = []struct {
	name, path string
	typed      map[string]string
	button     string
}{
	{"incident-preview", "/admin/incidents/new?page=acme",
		map[string]string{"title": markup, "message": "- " + longWord}, "[value=preview]"},
	{"incident-refused", "/admin/incidents/new?page=acme", map[string]string{"title": ""}, "[value=publish]"},
	{"update-preview", "/admin/incidents/{incident}", map[string]string{"message": "**We are on it.** " + longWord},
		"[value=preview]"},
	{"postmortem-preview", "/admin/incidents/{incident}/postmortem", map[string]string{"body": "# Why\n\n" + longWord},
		"[value=preview]"},
	{"maintenance-refused", "/admin/maintenances/new?page=acme",
		map[string]string{"title": markup, "scheduled_for": ""}, "[value=publish]"},
	{"monitor-refused", "/admin/monitors/new", map[string]string{"name": longWord, "interval": "soon"}, ".button"},
	{"page-refused", "/admin/pages/acme", map[string]string{"domain": "not a domain", "accent": "reddish"},
		".save .button"},
	{"import-report", "/admin/pages/acme/subscribers/import",
		map[string]string{"csv": "email\nalan@example.com\n" + longWord, "consent": "a form on paper"}, "form .button"},
	{"token-issued", "/admin/tokens", map[string]string{"name": longWord}, "form .button"},
	{"authenticator", "/admin/account", nil, "form[action$='authenticator/begin'] button"},
}

// inspectAnswers sends the forms and inspects the answers.
func (i *inspection) inspectAnswers(t *testing.T, f *furnished) {
	p := f.owner.open(t, phone, "about:blank")
	for _, a := range answers {
		p.load(t, f.base+strings.ReplaceAll(a.path, "{incident}", f.ids["incident"]))
		typed, err := json.Marshal(a.typed)
		if err != nil {
			t.Fatal(err)
		}
		eval[any](p, fmt.Sprintf(`(() => {
			for (const [name, text] of Object.entries(%s ?? {})) document.querySelector("main [name=" + name + "]").value = text;
			const button = document.querySelector("main %s");
			button.form.noValidate = true;
			button.form.requestSubmit(button);
		})()`, typed, a.button))
		select {
		case <-p.loaded:
		case <-time.After(browserTimeout):
			t.Fatalf("%s: no answer", a.name)
		}
		i.inspect(p, a.name)
	}
}

// inspectAll inspects every screen, in three tabs at a time: one with phones, one with desktops, and one with answers.
func inspectAll(t *testing.T, i inspection) {
	t.Helper()
	f := furnish(t)
	i.displays = displays
	alone := newBrowser(t).open(t, phone, "about:blank")
	_, setup := newInstallation(t)
	for _, url := range append(f.links, setup, f.base+"/admin/sign-in", f.base+"/admin/forgot") {
		path, _, _ := strings.Cut(url, "?")
		i.visit(t, alone, screen{screenName(path), url})
	}
	all, every := f.screens(t), 1
	if !full && !allDisplays {
		every = 3
	}
	t.Run("screens", func(t *testing.T) {
		t.Run("answers", func(t *testing.T) {
			t.Parallel()
			i := i
			i.answer, i.folder = true, ""
			i.inspectAnswers(t, f)
		})
		for half := range 2 {
			t.Run(fmt.Sprint(half), func(t *testing.T) {
				t.Parallel()
				i := i
				if !allDisplays {
					i.displays = displays[half : half+1]
				}
				p := f.owner.open(t, displays[half], "about:blank")
				for n := half; n < len(all); n += 2 * every {
					i.visit(t, p, all[n])
				}
			})
		}
	})
}
