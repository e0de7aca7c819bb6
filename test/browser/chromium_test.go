package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// RequireChromium is the environment variable that, set to 1, makes a test
// fail instead of skip where Chromium is not installed.
const RequireChromium = "ALLSWELL_TEST_REQUIRE_CHROMIUM"

// browserTimeout is the maximum time to wait for anything in the browser.
const browserTimeout = 30 * time.Second

// chromium is a browser without a window, driven by the DevTools protocol over
// a pair of pipes: JSON objects, each ended by a NUL. It ends when the pipes do.
type chromium struct {
	t   *testing.T // the test that started it
	out io.Writer

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	tabs    map[string]*tab
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

func start(t *testing.T) *chromium {
	t.Helper()
	profile, err := os.MkdirTemp("", "allswell-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	commandsRead, commandsWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	eventsRead, eventsWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// Root may not use the sandbox, and containers often cannot; the pages are
	// our own. Nothing is asked of any host but the one under test.
	cmd := exec.Command(path(t), "--headless", "--remote-debugging-pipe", "--user-data-dir="+profile, "--no-sandbox",
		"--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--no-first-run", "--no-default-browser-check", "--hide-scrollbars", "about:blank")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + profile, "TZ=UTC", "LC_ALL=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{commandsRead, eventsWrite}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	commandsRead.Close()
	eventsWrite.Close()
	c := &chromium{t: t, out: commandsWrite, waiting: map[int]chan answer{}, tabs: map[string]*tab{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(eventsRead)
	}()
	t.Cleanup(func() {
		_, err := c.call("", "Browser.close", nil)
		commandsWrite.Close()
		kill := time.AfterFunc(browserTimeout, func() { _ = cmd.Process.Kill() })
		err = errors.Join(err, cmd.Wait())
		kill.Stop()
		<-read
		eventsRead.Close()
		if err != nil {
			t.Errorf("closing Chromium: %v", err)
		}
		// Its helpers may still be writing there; the folder is nobody's by now.
		_ = os.RemoveAll(profile)
	})
	return c
}

func path(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	if os.Getenv(RequireChromium) == "1" {
		t.Fatal("Chromium is not installed, and " + RequireChromium + "=1 asks for it")
	}
	t.Skip("skipped: Chromium is not installed")
	return ""
}

// read hands answers to whoever waits for them and events to their tab.
func (c *chromium) read(events io.Reader) {
	scan := bufio.NewScanner(events)
	scan.Buffer(nil, 64<<20) // a screenshot is one message
	scan.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := strings.IndexByte(string(data), 0); i >= 0 {
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
			c.t.Errorf("Chromium sent %q: %v", scan.Text(), err)
			return
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
	noScript      bool
}

// open loads url in a tab of its own, which is closed when the test ends.
func (c *chromium) open(t *testing.T, v view, url string) *tab {
	t.Helper()
	// Until it has a session, what the tab is told is told to the browser.
	p := &tab{t: t, browser: c, loaded: make(chan struct{}, 1)}
	var target struct{ TargetID string }
	p.do("Target.createTarget", params{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	p.do("Target.attachToTarget", params{"targetId": target.TargetID, "flatten": true}, &attached)
	t.Cleanup(func() {
		if _, err := c.call("", "Target.closeTarget", params{"targetId": target.TargetID}); err != nil {
			t.Error(err)
		}
	})
	p.session = attached.SessionID
	c.mu.Lock()
	c.tabs[p.session] = p
	c.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.do(domain+".enable", nil, nil)
	}
	p.do("Emulation.setDeviceMetricsOverride", params{"width": v.width, "height": v.height, "deviceScaleFactor": 1, "mobile": v.width < 600}, nil)
	scheme := "light"
	if v.dark {
		scheme = "dark"
	}
	p.do("Emulation.setEmulatedMedia", params{"features": []params{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.do("Emulation.setScriptExecutionDisabled", params{"value": v.noScript}, nil)
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
	return p
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
		problem("a request failed: %s", e.ErrorText)
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
	var got struct {
		Result           struct{ Value T }
		ExceptionDetails *struct{ Text string }
	}
	p.do("Runtime.evaluate", params{"expression": expression, "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, got.ExceptionDetails.Text)
	}
	return got.Result.Value
}

// screenshot returns the whole page as PNG.
func (p *tab) screenshot() []byte {
	p.t.Helper()
	var shot struct{ Data string }
	p.do("Page.captureScreenshot", params{"format": "png", "captureBeyondViewport": true}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return png
}
