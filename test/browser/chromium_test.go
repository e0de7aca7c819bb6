package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/test/parallel"
)

// RequireChromium is the environment variable that, set to 1, makes a test
// fail instead of skip where Chromium is not installed.
const RequireChromium = "ALLSWELL_TEST_REQUIRE_CHROMIUM"

// browserTimeout is the maximum time to wait for anything in the browser.
const browserTimeout = 30 * time.Second

// chromium is a headless Chromium, controlled with the DevTools protocol over two
// pipes: JSON objects, each followed by a NUL. It exits when the pipes are closed.
type chromium struct {
	cmd     *exec.Cmd
	profile string
	out     io.WriteCloser
	read    chan error // receives the result of readEvents

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	tabs    map[string]*tab
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// chromiumPath returns the path of Chromium, or "" if it is not installed. The
// variant without windows takes half the time.
func chromiumPath() string {
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	return ""
}

func startChromium() (_ *chromium, err error) {
	profile, err := os.MkdirTemp("", "allswell-chromium-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(profile))
		}
	}()
	commandsRead, commandsWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer commandsRead.Close()
	eventsRead, eventsWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, commandsWrite.Close())
	}
	defer eventsWrite.Close()
	// Root may not use the sandbox, and many containers cannot. All pages are
	// served by the tests.
	cmd := exec.Command(chromiumPath(), "--headless", "--remote-debugging-pipe", "--user-data-dir="+profile,
		"--no-sandbox",
		"--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--no-first-run", "--no-default-browser-check", "--hide-scrollbars", "about:blank")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + profile, "TZ=UTC", "LC_ALL=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{commandsRead, eventsWrite}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, commandsWrite.Close(), eventsRead.Close())
	}
	c := &chromium{cmd: cmd, profile: profile, out: commandsWrite, read: make(chan error, 1),
		waiting: map[int]chan answer{}, tabs: map[string]*tab{}}
	go func() { c.read <- errors.Join(c.readEvents(eventsRead), eventsRead.Close()) }()
	return c, nil
}

// close ends Chromium and removes its profile.
func (c *chromium) close() error {
	_, err := c.call("", "Browser.close", nil)
	err = errors.Join(err, c.out.Close())
	kill := time.AfterFunc(browserTimeout, func() { _ = c.cmd.Process.Kill() })
	err = errors.Join(err, c.cmd.Wait(), <-c.read)
	kill.Stop()
	_ = os.RemoveAll(c.profile) // fails if one of Chromium's processes still writes there
	return err
}

// sharedChromium is the Chromium of all tests of this process. Starting it takes
// longer than most tests.
var sharedChromium = sync.OnceValues(startChromium)

func TestMain(m *testing.M) {
	parallel.Tests(4)
	code := m.Run()
	if started.Load() {
		c, err := sharedChromium()
		if err == nil {
			err = c.close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "closing Chromium:", err)
			code = 1
		}
	}
	if err := removeFolder(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// started is true once a test has asked for Chromium.
var started atomic.Bool

// browser is a browser context of one test: it shares no cookies, cache or
// storage with other tests.
type browser struct {
	*chromium
	context string
}

// newBrowser returns a browser context that exists until the test ends. The test
// is skipped if Chromium is not installed, or fails if RequireChromium is 1.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if chromiumPath() == "" {
		if os.Getenv(RequireChromium) == "1" {
			t.Fatal("Chromium is not installed, and " + RequireChromium + "=1 requires it")
		}
		t.Skip("Chromium is not installed")
	}
	started.Store(true)
	c, err := sharedChromium()
	if err != nil {
		t.Fatal(err)
	}
	var context struct{ BrowserContextID string }
	result, err := c.call("", "Target.createBrowserContext", nil)
	if err == nil {
		err = json.Unmarshal(result, &context)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := c.call("", "Target.disposeBrowserContext", params{"browserContextId": context.BrowserContextID})
		if err != nil {
			t.Error(err)
		}
	})
	return &browser{c, context.BrowserContextID}
}

// readEvents passes answers to the callers that wait for them, and events to
// their tabs.
func (c *chromium) readEvents(events io.Reader) error {
	scan := bufio.NewScanner(events)
	scan.Buffer(nil, 64<<20) // a screenshot is one message
	scan.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, 0); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	for scan.Scan() {
		var m struct {
			ID        int
			SessionID string
			Method    string
			Params    json.RawMessage
			answer
		}
		if err := json.Unmarshal(scan.Bytes(), &m); err != nil {
			return fmt.Errorf("Chromium sent %q: %w", scan.Text(), err)
		}
		c.mu.Lock()
		wait, tab := c.waiting[m.ID], c.tabs[m.SessionID]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		switch {
		case m.Method == "" && wait != nil:
			wait <- m.answer
		case m.Method != "" && tab != nil:
			tab.event(m.Method, m.Params)
		}
	}
	return scan.Err()
}

// call sends one command to a tab, or with an empty session to the browser.
func (c *chromium) call(session, method string, args params) (json.RawMessage, error) {
	c.mu.Lock()
	c.next++
	id := c.next
	wait := make(chan answer, 1)
	c.waiting[id] = wait
	message, err := json.Marshal(struct {
		ID        int    `json:"id"`
		SessionID string `json:"sessionId,omitempty"`
		Method    string `json:"method"`
		Params    params `json:"params,omitempty"`
	}{id, session, method, args})
	if err == nil {
		_, err = c.out.Write(append(message, 0))
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), browserTimeout)
	defer cancel()
	select {
	case a := <-wait:
		if a.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		return a.Result, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: no answer within %v", method, browserTimeout)
	}
}

// tab is one page of the browser, and what went wrong in it.
type tab struct {
	t       *testing.T
	browser *chromium
	session string
	shown   view
	loaded  chan struct{}

	mu       sync.Mutex
	requests []string // the URLs that were asked for
	problems []string // console errors, exceptions, failed requests
}

// view is what a visitor's screen is like.
type view struct {
	name          string
	width, height int
	dark          bool
	still         bool // without animations
	noScript      bool
}

// open loads url in a tab of its own, which is closed when the test ends.
func (c *browser) open(t *testing.T, v view, url string) *tab {
	t.Helper()
	// Until the tab has a session, its commands go to the browser.
	p := &tab{t: t, browser: c.chromium, loaded: make(chan struct{}, 1)}
	var target struct{ TargetID string }
	p.do("Target.createTarget", params{"url": "about:blank", "browserContextId": c.context}, &target)
	var attached struct{ SessionID string }
	p.do("Target.attachToTarget", params{"targetId": target.TargetID, "flatten": true}, &attached)
	t.Cleanup(func() {
		if _, err := c.call("", "Target.closeTarget", params{"targetId": target.TargetID}); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.tabs, p.session)
	})
	p.session = attached.SessionID
	c.mu.Lock()
	c.tabs[p.session] = p
	c.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.do(domain+".enable", nil, nil)
	}
	p.visit(t, v, url)
	return p
}

// show gives the tab the display of a view, and in the next page its scripts or none. Another size takes almost as long
// as another page.
func (p *tab) show(v view) {
	p.t.Helper()
	if v.width != p.shown.width || v.height != p.shown.height {
		p.do("Emulation.setDeviceMetricsOverride",
			params{"width": v.width, "height": v.height, "deviceScaleFactor": 1, "mobile": v.width < 600}, nil)
	}
	if v.dark != p.shown.dark || v.still != p.shown.still || p.shown.width == 0 {
		scheme, motion := "light", "no-preference"
		if v.dark {
			scheme = "dark"
		}
		if v.still {
			motion = "reduce"
		}
		p.do("Emulation.setEmulatedMedia", params{"features": []params{
			{"name": "prefers-color-scheme", "value": scheme},
			{"name": "prefers-reduced-motion", "value": motion}}}, nil)
	}
	if v.noScript != p.shown.noScript {
		p.do("Emulation.setScriptExecutionDisabled", params{"value": v.noScript}, nil)
	}
	p.shown = v
}

// visit gives the tab the display of a view, and loads url.
func (p *tab) visit(t *testing.T, v view, url string) {
	t.Helper()
	p.t = t
	p.show(v)
	p.load(t, url)
}

// load navigates the tab to url. From then on, failures belong to t, and requests and problems to the new page. It
// takes a third of the time of a tab of its own, which gets a process of its own.
func (p *tab) load(t *testing.T, url string) {
	t.Helper()
	p.t = t
	p.mu.Lock()
	p.requests, p.problems = nil, nil
	p.mu.Unlock()
	var nav struct{ ErrorText string }
	p.do("Page.navigate", params{"url": url}, &nav)
	if nav.ErrorText != "" {
		t.Fatalf("%s: %s", url, nav.ErrorText)
	}
	select {
	case <-p.loaded:
	case <-time.After(browserTimeout):
		t.Fatalf("%s has not loaded after %v", url, browserTimeout)
	}
}

type params map[string]any

// do sends the tab a command that has to succeed and decodes its result into
// into (nil: dropped).
func (p *tab) do(method string, args params, into any) {
	p.t.Helper()
	result, err := p.browser.call(p.session, method, args)
	if err == nil && into != nil {
		err = json.Unmarshal(result, into)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) event(method string, raw json.RawMessage) {
	var e struct {
		Request  struct{ URL string }
		Response struct {
			URL    string
			Status int
		}
		Type, ErrorText  string
		Canceled         bool
		Args             []struct{ Value any }
		ExceptionDetails struct{ Text string }
		Entry            struct{ Level, Text, URL string }
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		e.ErrorText = err.Error()
		method = "Network.loadingFailed"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	problem := func(format string, args ...any) { p.problems = append(p.problems, fmt.Sprintf(format, args...)) }
	switch method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	case "Network.responseReceived":
		if e.Response.Status >= 400 {
			problem("%s answered %d", e.Response.URL, e.Response.Status)
		}
	case "Network.loadingFailed":
		if !e.Canceled { // a page that is left cancels its requests
			problem("a request failed: %s", e.ErrorText)
		}
	case "Runtime.exceptionThrown":
		problem("script: %s", e.ExceptionDetails.Text)
	case "Runtime.consoleAPICalled":
		if e.Type == "error" || e.Type == "warning" {
			problem("console: %s %v", e.Type, e.Args)
		}
	case "Log.entryAdded":
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			problem("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	}
}

// eval evaluates a JavaScript expression in the page, also where the page's own
// scripts are off.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := tryEval[T](p, expression)
	if err != nil {
		p.t.Fatal(err)
	}
	return value
}

// tryEval is eval for an expression that may meet a page that is being left: then
// there is no answer, only an error.
func tryEval[T any](p *tab, expression string) (T, error) {
	var got struct {
		Result           struct{ Value T }
		ExceptionDetails *struct{ Text string }
	}
	raw, err := p.browser.call(p.session, "Runtime.evaluate", params{"expression": expression, "returnByValue": true})
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err == nil && got.ExceptionDetails != nil {
		err = fmt.Errorf("%s: %s", expression, got.ExceptionDetails.Text)
	}
	return got.Result.Value, err
}

// screenshot returns a PNG of the whole page, or of the middle of what is visible, as wide as the smallest phone. That
// takes half as long as all that is visible on a desktop, and an eighth of the whole page.
func (p *tab) screenshot(whole bool) []byte {
	p.t.Helper()
	var shot struct{ Data string }
	args := params{"format": "png", "captureBeyondViewport": whole, "optimizeForSpeed": true}
	if !whole {
		scrolled := eval[[2]float64](p, `[scrollX, scrollY]`)
		args["clip"] = params{
			"x": scrolled[0] + float64(p.shown.width-320)/2, "y": scrolled[1], "width": 320, "height": 640, "scale": 1,
		}
	}
	p.do("Page.captureScreenshot", args, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return png
}
