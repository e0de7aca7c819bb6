package browser

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// serveAcme starts a server with a page called Acme.
func serveAcme(t *testing.T) (*binary.Server, *binary.Client) {
	t.Helper()
	server := binary.NewServer(t, program(t),
		"ALLSWELL_DATABASE="+storetest.SQLite(t), "ALLSWELL_BOOTSTRAP_TOKEN="+token)
	server.Start()
	client := binary.NewClient(server.URL, token)
	client.Must(t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	return server, client
}

// troubled starts a server with a page of a component whose last days were not
// all good, and returns the addresses of both.
func troubled(t *testing.T) (page, component string) {
	t.Helper()
	database := storetest.SQLite(t)
	server := binary.NewServer(t, program(t), "ALLSWELL_DATABASE="+database, "ALLSWELL_BOOTSTRAP_TOKEN="+token)
	server.Start()
	client := binary.NewClient(server.URL, token)
	type params = map[string]any
	client.Must(t, "POST", "/api/v1/pages", params{"name": "Acme", "slug": "acme"}, nil)
	var made binary.Data[struct{ ID string }]
	client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": "Checkout"}, &made)
	for i := range 3 {
		client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": fmt.Sprint("Other ", i)}, nil)
	}
	var group, mirror binary.Data[struct{ ID string }]
	client.Must(t, "POST", "/api/v1/pages/acme/groups", params{"name": "Copies"}, &group)
	client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": "Mirror", "group": group.Data.ID}, &mirror)
	// the server writes, too
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(database, "sqlite:")+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for _, change := range []struct {
		of     string
		at     time.Time
		status string
	}{
		{made.Data.ID, today.AddDate(0, 0, -200), "operational"},
		{made.Data.ID, today.AddDate(0, 0, -70).Add(time.Hour), "degraded"},
		{made.Data.ID, today.AddDate(0, 0, -70).Add(3 * time.Hour), "operational"},
		{made.Data.ID, today.AddDate(0, 0, -2).Add(time.Hour), "major_outage"},
		{made.Data.ID, today.AddDate(0, 0, -2).Add(74 * time.Minute), "operational"},
		{mirror.Data.ID, today.AddDate(0, 0, -200), "operational"},
		{mirror.Data.ID, today.AddDate(0, 0, -2).Add(time.Hour), "partial_outage"},
		{mirror.Data.ID, today.AddDate(0, 0, -2).Add(70 * time.Minute), "operational"},
	} {
		_, err := db.Exec(`INSERT INTO status_changes (component_id, changed_at, status) VALUES ($1, $2, $3)`,
			change.of, change.at.UnixMilli(), change.status)
		if err != nil {
			t.Fatal(err)
		}
	}
	// the history of the page begins with what is in it
	if _, err := db.Exec(`UPDATE pages SET created_at = $1`, today.AddDate(0, 0, -200).UnixMilli()); err != nil {
		t.Fatal(err)
	}
	client.Must(t, "POST", "/api/v1/pages/acme/incidents",
		params{"title": "Slow", "impact": "minor", "message": "We look."}, nil)
	begin := time.Now().UTC().Add(48 * time.Hour).Truncate(time.Hour)
	client.Must(t, "POST", "/api/v1/pages/acme/maintenances", params{
		"title": "New disks", "message": "We **swap** two.", "scheduled_for": begin.Format("2006-01-02T15:04:05.000Z"),
		"scheduled_until": begin.Add(2 * time.Hour).Format("2006-01-02T15:04:05.000Z"),
		"components":      []string{made.Data.ID},
	}, nil)
	page = server.URL + "/status/acme"
	return page, page + "/components/" + made.Data.ID
}

// key presses a key in the focused element.
func (p *tab) key(name string) {
	p.t.Helper()
	p.pressDown(name)
	p.sendKey("keyUp", name)
}

// pressDown presses a key and does not release it, which is all that moves the focus.
func (p *tab) pressDown(name string) {
	p.t.Helper()
	p.sendKey("rawKeyDown", name)
}

func (p *tab) sendKey(kind, name string) {
	p.t.Helper()
	codes := map[string]int{
		"Tab": 9, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
		"ArrowRight": 39, "ArrowDown": 40,
	}
	p.do("Input.dispatchKeyEvent",
		params{"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": codes[name]}, nil)
}

// reload loads the page once more.
func (p *tab) reload() {
	p.t.Helper()
	p.do("Page.reload", nil, nil)
	select {
	case <-p.loaded:
	case <-time.After(browserTimeout):
		p.t.Fatalf("the page has not loaded again after %v", browserTimeout)
	}
}

// What the tests of bars look at, in the page.
const (
	strip   = `document.querySelector(".bars[role=slider]")`
	popText = `[...document.querySelectorAll(".pop p")].map(p => p.textContent).join(" | ")`
	inside  = `(() => { const r = document.querySelector(".pop").getBoundingClientRect();
		return r.width > 40 && r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight })()`
	sideways = `document.documentElement.scrollWidth <= innerWidth`
)

// barAt returns the middle of the bar of as many days ago.
func (p *tab) barAt(ago int) (x, y float64) {
	p.t.Helper()
	eval[any](p, strip+`.scrollIntoView({block: "center"})`)
	at := eval[[]float64](p,
		fmt.Sprintf(`(() => { const r = %s.children[89 - %d].getBoundingClientRect(); return [r.left + r.width / 2, `+
			`r.top + r.height / 2] })()`, strip, ago))
	return at[0], at[1]
}

func dayAgo(ago int) string {
	return time.Now().UTC().AddDate(0, 0, -ago).Format("Monday")
}

// TestBarsByKeyboard goes through the days with the keys that a slider has.
func TestBarsByKeyboard(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	page, component := troubled(t)
	p := c.open(t, views[0], "about:blank")
	for _, v := range []view{views[0], views[3]} {
		for _, url := range []string{page, component, page + "?lang=ar"} {
			t.Run(v.name+url[strings.LastIndexByte(url, '/'):], func(t *testing.T) {
				p.visit(t, v, url)
				back, on := "ArrowLeft", "ArrowRight"
				if strings.HasSuffix(url, "lang=ar") {
					back, on = on, back
				}
				p.is(strip+`.tabIndex === 0`, strip+`.ariaValueNow === "90"`, `!document.querySelector(".pop")`)
				eval[any](p, strip+`.focus()`)
				p.key(back)
				p.key(back)
				p.is(strip+`.ariaValueNow === "88"`, inside, sideways, strip+`.querySelectorAll(".on").length === 1`,
					strip+`.children[87].matches(".m.on")`)
				got := eval[string](p, popText)
				if strings.HasSuffix(url, "lang=ar") == strings.Contains(got, "Major Outage, 14 minutes") {
					t.Errorf("the day reads %q", got)
				}
				if !strings.HasSuffix(url, "lang=ar") {
					got := eval[string](p, strip+`.ariaValueText`)
					if !strings.HasPrefix(got, dayAgo(2)) ||
						!strings.HasSuffix(got, "Major Outage, 14 minutes, Uptime: 99.02%") {
						t.Errorf("screen readers are told %q", got)
					}
				}
				if v.width == 320 || strings.Contains(url, "comp_") && v.dark {
					p.shoot(fmt.Sprintf("bars-%s-%d", v.name, len(url)))
				}
				p.key(on)
				p.key(on)
				p.key(on)
				p.is(strip+`.ariaValueNow === "90"`, inside)
				p.key("Home")
				first := 1
				if v.width == 320 {
					first = 61
				}
				p.is(fmt.Sprintf(`%s.ariaValueNow === "%d"`, strip, first), inside, sideways)
				p.key(back)
				p.is(fmt.Sprintf(`%s.ariaValueNow === "%d"`, strip, first))
				p.key("PageUp")
				p.is(fmt.Sprintf(`%s.ariaValueNow === "%d"`, strip, first+7))
				p.key("Escape")
				p.is(`!document.querySelector(".pop")`, `document.activeElement === `+strip)
				p.key("End")
				p.is(inside)
				p.key("Tab")
				p.is(`!document.querySelector(".pop")`, `document.activeElement !== `+strip)
				for _, fault := range faults(p, v) {
					t.Error(fault)
				}
			})
		}
	}
}

// TestBarsByPointer: the mouse over a bar, and a finger on it.
func TestBarsByPointer(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	page, _ := troubled(t)
	t.Run("mouse", func(t *testing.T) {
		p := c.open(t, views[2], page)
		move := func(x, y float64) {
			p.do("Input.dispatchMouseEvent", params{"type": "mouseMoved", "x": x, "y": y}, nil)
		}
		x, y := p.barAt(70)
		move(x, y)
		p.is(inside, strip+`.children[19].matches(".d.on")`)
		got := eval[string](p, popText)
		if !strings.HasPrefix(got, dayAgo(70)) || !strings.HasSuffix(got, " | Degraded, 2 hours | Uptime: 100%") {
			t.Errorf("the day reads %q", got)
		}
		at := eval[[]float64](p,
			`(() => { const r = document.querySelector(".pop").getBoundingClientRect(); return [r.left + 9, r.bottom `+
				`- 3] })()`)
		move(at[0], at[1])
		p.is(inside) // what explains can be pointed at, and read by a magnifier
		p.key("Escape")
		p.is(`!document.querySelector(".pop")`)
		move(x, y)
		p.is(inside)
		move(2, 2)
		p.is(`!document.querySelector(".pop")`)
	})
	for _, lang := range []string{"en", "ar"} {
		t.Run("finger-"+lang, func(t *testing.T) {
			p := c.open(t, views[0], page+"?lang="+lang)
			p.do("Emulation.setTouchEmulationEnabled", params{"enabled": true}, nil)
			tap := func(x, y float64) {
				p.do("Input.dispatchTouchEvent",
					params{"type": "touchStart", "touchPoints": []params{{"x": x, "y": y}}}, nil)
				p.do("Input.dispatchTouchEvent", params{"type": "touchEnd", "touchPoints": []params{}}, nil)
			}
			for _, ago := range []int{0, 2, 29} { // both edges of the screen
				x, y := p.barAt(ago)
				tap(x, y)
				p.eventually(fmt.Sprintf(`%s.children[%d].matches(".on")`, strip, 89-ago))
				p.is(inside, sideways)
			}
			at := eval[[]float64](p,
				`(() => { const r = document.querySelector("footer").getBoundingClientRect(); return [160, `+
					`Math.min(r.top + 4, innerHeight - 4)] })()`)
			tap(at[0], at[1])
			p.eventually(`!document.querySelector(".pop")`)
		})
	}
}

// TestBarsOfFoldedGroup checks that the bars of a folded group show the statuses of a day to the
// mouse, and that a click unfolds the group with the bars of each component.
func TestBarsOfFoldedGroup(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	page, _ := troubled(t)
	p := c.open(t, views[2], page)
	const bars = `document.querySelector(".group > summary .bars")`
	p.is(`document.querySelector(".group").open`) // it is small
	eval[any](p, `document.querySelector(".group").open = false`)
	at := func(ago int) (x, y float64) {
		eval[any](p, bars+`.scrollIntoView({block: "center"})`)
		at := eval[[]float64](p,
			fmt.Sprintf(`(() => { const r = %s.children[89 - %d].getBoundingClientRect(); return [r.left + r.width / `+
				`2, r.top + r.height / 2] })()`, bars, ago))
		return at[0], at[1]
	}
	for ago, want := range map[int]string{2: " | Mirror: Partial Outage, 10 minutes", 3: " | Operational"} {
		x, y := at(ago)
		p.do("Input.dispatchMouseEvent", params{"type": "mouseMoved", "x": x, "y": y}, nil)
		p.is(inside, fmt.Sprintf(`%s.children[%d].matches(".on")`, bars, 89-ago))
		if got := eval[string](p, popText); got[:len(dayAgo(ago))] != dayAgo(ago) || !strings.HasSuffix(got, want) {
			t.Errorf("%d days ago: %q, want %q", ago, got, want)
		}
	}
	x, y := at(2)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.do("Input.dispatchMouseEvent", params{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
	}
	p.eventually(`document.querySelector(".group").open`)
	p.is(`!document.querySelector(".pop")`, `!`+bars+`.checkVisibility()`)
}

// TestBarsWorkAfterUpdate checks that bars work after live.js has replaced them.
func TestBarsWorkAfterUpdate(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	page, _ := troubled(t)
	p := c.open(t, views[2], page)
	eval[any](p, strip+`.focus()`)
	p.key("ArrowLeft")
	p.is(inside)
	eval[any](p, `(async () => {
		const text = await (await fetch(location.href)).text();
		document.querySelector("main").replaceWith(new DOMParser().parseFromString(text, "text/html").querySelector("main"));
		document.dispatchEvent(new Event("allswell:replaced"));
		document.dispatchEvent(new Event("allswell:replaced"));
		document.body.dataset.done = "yes";
	})()`)
	p.eventually(`document.body.dataset.done === "yes"`)
	p.is(`!document.querySelector(".pop")`, strip+`.ariaValueNow === "90"`,
		`!document.querySelector("main time[datetime*=T]:not([title])")`)
	eval[any](p, strip+`.focus()`)
	p.key("ArrowLeft")
	p.is(strip+`.ariaValueNow === "89"`, inside)
}

// TestBarsAskAgainAfterError checks that the history of a month that could not be loaded is asked for again.
func TestBarsAskAgainAfterError(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	page, _ := troubled(t)
	p := c.open(t, views[2], page)
	eval[any](p, `(() => {
		const day = new Date(`+strip+`.dataset.day);
		day.setUTCDate(day.getUTCDate() - 2);
		const component = `+strip+`.closest("li").querySelector("a.component").pathname;
		const month = '<div class="day"><ol class="past"><li><summary><h4>Found</h4> <time datetime="' + day.toISOString() + '"></time></summary><p class="names"><a href="' +
			component + '">Checkout</a></p><p class="more"><a href="/status/acme/incidents/found">Details</a></p></li></ol></div>';
		window.asked = 0;
		window.fetch = async () => ++asked === 1 ? new Response("", {status: 503}) : new Response(month);
	})()`)
	eval[any](p, strip+`.focus()`)
	p.key("ArrowLeft")
	p.key("ArrowLeft")
	p.eventually(`asked === 1`)
	p.is(strip+`.children[87].matches(".m.on")`, `!document.querySelector(".pop a")`)
	p.key("ArrowLeft")
	p.key("ArrowRight")
	p.eventually(`document.querySelector(".pop a")?.textContent === "Found"`)
	p.is(`asked === 2`)
}

// TestHistoryWithoutScript checks that the bars are an image with a name, and that the table of
// days opens.
func TestHistoryWithoutScript(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	page, component := troubled(t)
	p := c.open(t, views[4], "about:blank")
	for _, url := range []string{page, component} {
		p.load(t, url)
		p.is(`document.querySelectorAll(".bars[role=img][aria-label*='status']").length > 0`,
			`!document.querySelector("[role=slider]")`)
		summary := `document.querySelector(".history summary")`
		p.is(summary + `.checkVisibility()`)
		at := eval[[]float64](p,
			`(() => { `+summary+`.scrollIntoView({block: "center"}); const r = `+summary+
				`.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2] })()`)
		for _, kind := range []string{"mousePressed", "mouseReleased"} {
			p.do("Input.dispatchMouseEvent",
				params{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}, nil)
		}
		p.eventually(`document.querySelector(".history table").checkVisibility()`)
		got := eval[string](p, `document.querySelector(".history table").innerText`)
		if !strings.Contains(got, "Major Outage, 14 minutes") || !strings.Contains(got, "Degraded, 2 hours") {
			t.Errorf("%s: the table reads %q", url, got)
		}
		look(p, views[4], "table")
	}
}

// TestUptimesCoverVisibleBars checks that, on every screen, all visible uptimes cover and name as
// many days as there are visible bars.
func TestUptimesCoverVisibleBars(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	page, _ := troubled(t)
	p := c.open(t, view{width: 320, height: 800}, page)
	for width, days := range map[int]int{320: 30, 600: 60, 768: 90, 1280: 90} {
		p.show(view{width: width, height: 800})
		eval[any](p, `document.querySelectorAll(".group").forEach(g => g.open = true)`)
		got := eval[[]string](p,
			`[...document.querySelectorAll("main [class^=of-]")].filter(e => e.checkVisibility() && `+
				`/uptime/.test(e.textContent)).map(e => e.textContent.trim())`)
		if len(got) != 1+1+5 { // the page's, the group's, the components'
			t.Errorf("at %d pixels there are the figures %q", width, got)
		}
		young := 0 // components without a past
		for _, figure := range got {
			if strings.HasSuffix(figure, "100% uptime since "+time.Now().UTC().Format("2 Jan")) {
				young++
			} else if !strings.HasSuffix(figure, fmt.Sprintf("%% uptime over %d days", days)) {
				t.Errorf("at %d pixels, with %d bars, there is %q", width, days, figure)
			}
		}
		if young != 3 {
			t.Errorf("at %d pixels, %d figures are of today alone: %q", width, young, got)
		}
		p.is(fmt.Sprintf(`[...%s.children].filter(b => b.offsetWidth).length === %d`, strip, days))
	}
}

// TestDayTableFitsNarrowScreen checks that the table of days fits on a narrow screen and breaks
// no word.
func TestDayTableFitsNarrowScreen(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	page, component := troubled(t)
	p := c.open(t, views[0], "about:blank")
	for _, url := range []string{
		page, component, page + "?lang=de", component + "?lang=de", page + "?lang=ar", component + "?lang=ar",
	} {
		p.load(t, url)
		got := eval[string](p, `(() => {
			document.querySelectorAll("details").forEach(d => d.open = true);
			for (const table of document.querySelectorAll(".days")) {
				if (table.scrollWidth > table.parentElement.clientWidth) return "a table of " + table.scrollWidth;
				const cell = table.tBodies[0].rows[0].cells[1];
				cell.textContent = document.dir === "rtl" ? "الصيانة" : "Beeinträchtigt Maintenance";
				const line = document.createRange();
				for (const word of cell.textContent.matchAll(/\S+/g)) {
					line.setStart(cell.firstChild, word.index);
					line.setEnd(cell.firstChild, word.index + word[0].length);
					if (line.getClientRects().length > 1) return word[0] + " is broken";
				}
				if (table.scrollWidth > table.parentElement.clientWidth) return "a table of " + table.scrollWidth + " with long words";
			}
			return "";
		})()`)
		if got != "" {
			t.Errorf("%s: %s", url, got)
		}
	}
}

// TestForcedColours: no icon is of the colour of what it stands on, whatever the
// visitor's system makes of both.
func TestForcedColours(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	page, _ := troubled(t)
	p := c.open(t, views[2], page)
	for _, scheme := range []string{"light", "dark"} {
		p.do("Emulation.setEmulatedMedia", params{"features": []params{
			{"name": "prefers-color-scheme", "value": scheme}, {"name": "forced-colors", "value": "active"}}}, nil)
		p.is(`matchMedia("(forced-colors: active)").matches`)
		got := eval[[]string](p, `(() => {
			const paper = getComputedStyle(document.body).backgroundColor, text = getComputedStyle(document.body).color;
			const odd = [...document.querySelectorAll("main .icon")].filter(e => getComputedStyle(e).color !== text || getComputedStyle(e).color === paper)
				.map(e => e.parentElement.className);
			for (const bar of document.querySelectorAll(".bars > *")) {
				const c = getComputedStyle(bar, "::before"), drawn = c.backgroundColor + c.backgroundImage + c.borderColor;
				if (!drawn.includes(text)) odd.push("bar " + bar.className + " " + drawn);
			}
			return odd;
		})()`)
		if len(got) > 0 {
			t.Errorf("%s: %q", scheme, got)
		}
		p.shoot("forced-" + scheme)
	}
}

// TestLocalTimes: times are in the zone of the visitor's clock, in the language of the page, and the page's own times
// can still be seen.
func TestLocalTimes(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	page, _ := troubled(t)
	p := c.open(t, views[2], "about:blank")
	const first, planned = `document.querySelector(".lead .meta time")`, `document.querySelector(".planned .meta time")`
	for _, want := range []struct{ lang, note string }{
		{"en", "Times are in your time zone."}, {"de", "Alle Zeitangaben in Ihrer Zeitzone."}, {"ar", ""},
	} {
		p.do("Emulation.setTimezoneOverride", params{"timezoneId": "America/New_York"}, nil)
		p.load(t, page+"?lang="+want.lang)
		zone, err := time.LoadLocation("America/New_York")
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, eval[string](p, first+`.dateTime`))
		if err != nil {
			t.Fatal(err)
		}
		got := eval[string](p, first+`.textContent`)
		if got == "" || strings.Contains(got, ":") || strings.Contains(got, "UTC") {
			t.Errorf("%s: a moment ago is written %q", want.lang, got)
		}
		for _, zoned := range []time.Time{at, at.In(zone)} {
			got := eval[string](p, first+`.title`)
			if !strings.Contains(got, zoned.Format("15:04")) || !strings.Contains(got, "UTC") {
				t.Errorf("%s: %v is exactly %q", want.lang, zoned, got)
			}
		}
		begins, err := time.Parse(time.RFC3339, eval[string](p, planned+`.dateTime`))
		if err != nil {
			t.Fatal(err)
		}
		if got := eval[string](p, planned+`.textContent`); !strings.Contains(got, begins.In(zone).Format("15:04")) {
			t.Errorf("%s: %v is written %q", want.lang, begins, got)
		}
		got = eval[string](p, `document.querySelector("[data-local]").textContent`)
		if got == "" || want.note != "" && got != want.note {
			t.Errorf("%s: the note says %q", want.lang, got)
		}
		// The maintenance begins and ends on one day; a bare time of the day must
		// not stand under another date.
		p.is(`!document.querySelector("time[datetime*=T]:not([title])")`)
		p.do("Emulation.setTimezoneOverride", params{"timezoneId": ""}, nil)
	}
	p.visit(t, views[4], page)
	p.is(`!`+first+`.textContent.includes("ago") && /\d\d:\d\d/.test(`+first+`.textContent)`, first+`.title === ""`,
		`document.querySelector("[data-local]").textContent.includes("UTC")`)
}

// shoot keeps a picture, where pictures are asked for.
func (p *tab) shoot(name string) {
	p.t.Helper()
	if dir := os.Getenv(keepScreenshots); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), p.screenshot(true), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// TestIncidentsOfDay checks that the explanation of a day links to the incidents of the component on that day, which
// the mouse and the keyboard reach.
func TestIncidentsOfDay(t *testing.T) {
	c := newBrowser(t)
	server, client := serveAcme(t)
	var made binary.Data[struct{ ID string }]
	client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": "Checkout"}, &made)
	client.Must(t, "POST", "/api/v1/pages/acme/components", params{"name": "Search"}, nil)
	client.Must(t, "POST", "/api/v1/pages/acme/incidents", params{"title": "Cards are refused", "impact": "critical",
		"components": []params{{"id": made.Data.ID, "status": "major_outage"}}}, nil)
	client.Must(t, "POST", "/api/v1/pages/acme/incidents", params{"title": "Of no component", "impact": "minor"}, nil)
	const links = `[...document.querySelectorAll(".pop a")]`
	for _, path := range []string{"/status/acme", "/status/acme?lang=ar", "/status/acme/components/" + made.Data.ID} {
		p := c.open(t, views[0], server.URL+path)
		eval[any](p, strip+`.focus()`)
		p.key("End")
		p.eventually(links + `.length > 0`)
		p.is(links+`.length === 1 && `+links+`[0].textContent === "Cards are refused"`, inside, sideways)
		p.key("Tab")
		p.is(links+`[0] === document.activeElement`, `location.pathname !== `+links+`[0].pathname`)
		p.key("Escape")
		p.is(`!document.querySelector(".pop")`, `document.activeElement === `+strip)

		eval[any](p, `document.activeElement.blur()`)
		x, y := p.barAt(0)
		p.do("Input.dispatchMouseEvent", params{"type": "mouseMoved", "x": x, "y": y}, nil)
		p.eventually(links + `.length === 1`)
		at := eval[[]float64](p,
			`(() => { const r = document.querySelector(".pop a").getBoundingClientRect(); return [r.left + 9, r.top `+
				`+ 9] })()`)
		for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
			p.do("Input.dispatchMouseEvent",
				params{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}, nil)
		}
		p.eventually(`document.readyState === "complete" && document.querySelector("h1")?.textContent === "Cards are ` +
			`refused"`)
	}
}
