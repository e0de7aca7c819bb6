package ping

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/allswell/allswell"
)

// Prefixes are the beginnings of all paths that this package serves. What follows is secret. All but Path are those of
// other services, so that jobs move here unchanged: see docs/jobs.md.
var Prefixes = []string{Path, healthchecksPath, kumaPath, cronitorPath, snitchPath}

// Paths of other services.
const (
	healthchecksPath = "/ping/"
	kumaPath         = "/api/push/"
	cronitorPath     = "/p/"
	snitchPath       = "/snitch/"
)

// contact is what a request says, in whatever form.
type contact struct {
	style    *style
	address  string // a ping address; another string is unknown
	name     string // of the monitor that it may create
	kind     allswell.SignalKind
	plain    bool // a plain ping, whose body is ignored
	exitCode *int
	runID    string
	output   string     // given in the query
	body     bool       // the body is output
	query    url.Values // for the monitor that it may create
	creates  bool       // asks for a monitor to be created
	invalid  *answer    // nil: it is valid
}

// readContact reads a request, except for its body.
func readContact(r *http.Request) contact {
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, Path); ok {
		return readOwn(r, rest)
	}
	if rest, ok := strings.CutPrefix(path, healthchecksPath); ok {
		return readHealthchecks(r, rest)
	}
	if rest, ok := strings.CutPrefix(path, kumaPath); ok {
		return readKuma(r, rest)
	}
	if rest, ok := strings.CutPrefix(path, cronitorPath); ok {
		return readCronitor(r, rest)
	}
	if rest, ok := strings.CutPrefix(path, snitchPath); ok {
		return readSnitch(r, rest)
	}
	return contact{style: ownStyle}
}

// segments splits a path into at most n segments; the last one has the rest.
func segments(path string, n int) []string { return strings.SplitN(path, "/", n) }

// setQuery reads the query. It reports whether that is valid.
func (c *contact) setQuery(r *http.Request) bool {
	if r.URL.RawQuery == "" {
		return true
	}
	var err error
	c.query, err = url.ParseQuery(r.URL.RawQuery)
	c.creates = c.query.Get("create") == "1"
	return err == nil
}

// setAddress sets the address from a ping key and the slug of a monitor.
func (c *contact) setAddress(key, slug string) {
	c.address, c.name = allswell.SlugAddress(key, slug), slug
}

// setForeignAddress is setAddress for a slug of another service: its capital letters, underscores and dots become small
// letters and hyphens. Nothing is cut off, so that it remains another slug than its neighbours.
func (c *contact) setForeignAddress(key, slug string) {
	c.setAddress(key, strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(slug)))
	c.name = slug
}

// readOwn reads what follows Path: {token}, {token}/{signal}, {ping key}/{slug} or {ping key}/{slug}/{signal}. The length
// says whether the first segment is a ping key, so that the second one is a slug, whatever it is.
func readOwn(r *http.Request, rest string) contact {
	c := contact{style: ownStyle, plain: true, kind: allswell.SignalSuccess}
	parts := segments(rest, 2)
	if allswell.IsPingKey(parts[0]) && len(parts) == 2 {
		tail := segments(parts[1], 2)
		c.setAddress(parts[0], tail[0])
		parts = append([]string{""}, tail[1:]...)
	} else {
		c.address = parts[0]
	}
	valid := c.setQuery(r)
	if len(parts) == 1 {
		return c
	}
	c.plain, c.body = false, true
	var known bool
	if c.kind, c.exitCode, known = allswell.ParseSignal(parts[1]); !known {
		c.address = ""
	}
	var validRun bool
	if c.runID, validRun = readRunID(c.query); !valid || !validRun {
		c.invalid = badRun
	}
	return c
}

// readHealthchecks reads the paths of Healthchecks: {uuid} and {ping key}/{slug}, both with start, fail, log or an exit
// code. Cronitor's library for JavaScript uses the same path, with the state in the query.
func readHealthchecks(r *http.Request, rest string) contact {
	c := contact{style: healthchecksStyle, kind: allswell.SignalSuccess, body: true}
	valid := c.setQuery(r)
	parts := segments(rest, 4)
	if allswell.IsPingKey(parts[0]) && len(parts) > 1 {
		if len(parts) == 2 && c.query.Has("state") {
			return readCronitor(r, rest)
		}
		c.setForeignAddress(parts[0], parts[1])
		parts = parts[1:]
	} else {
		c.address = parts[0]
		if len(parts) == 2 && parts[1] == "" {
			parts = parts[:1]
		}
	}
	var validRun bool
	c.runID, validRun = readRunID(c.query)
	c.plain = len(parts) == 1 && c.runID == "" && r.ContentLength == 0
	switch {
	case len(parts) > 2:
		c.address = ""
	case len(parts) == 2:
		c.readHealthchecksAction(parts[1])
	}
	if c.invalid == nil && (!valid || !validRun) {
		c.invalid = badHealthchecksRun
	}
	return c
}

// readHealthchecksAction reads start, fail, log or an exit code.
func (c *contact) readHealthchecksAction(action string) {
	switch kind := allswell.SignalKind(action); kind {
	case allswell.SignalStart, allswell.SignalFail, allswell.SignalLog:
		c.kind = kind
		return
	case allswell.SignalSuccess: // Healthchecks has no such path
	}
	if action == "" || strings.Trim(action, "0123456789") != "" {
		c.address = ""
		return
	}
	var known bool
	if c.kind, c.exitCode, known = allswell.ParseSignal(strings.TrimLeft(action[:len(action)-1], "0") + action[len(action)-1:]); !known {
		c.invalid = badHealthchecksCode
	}
}

// readKuma reads the path of push monitors of Uptime Kuma: {token}, with the status and a message in the query.
func readKuma(r *http.Request, rest string) contact {
	c := contact{style: kumaStyle, address: rest, kind: allswell.SignalSuccess}
	c.setQuery(r) // Kuma ignores what it does not understand
	if !allswell.IsPingToken(rest) {
		c.address = ""
	}
	c.creates = false
	if status := c.query.Get("status"); status != "" && status != "up" {
		c.kind = allswell.SignalFail
	}
	if message := c.query.Get("msg"); message != "OK" { // which its examples send
		c.output = message
	}
	c.plain = c.kind == allswell.SignalSuccess && c.output == ""
	return c
}

// series is the namespace of the run ids that are made from Cronitor's series.
var series = uuid.MustParse("2e0b7f8c-9f0c-5d0f-8f3a-6b1f6d6d2c11")

// readCronitor reads the path of Cronitor's telemetry: {ping key}/{monitor}, with the state, the message and the series in
// the query. As there, an unknown monitor is created.
func readCronitor(r *http.Request, rest string) contact {
	c := contact{style: cronitorStyle, kind: allswell.SignalSuccess}
	valid := c.setQuery(r)
	if parts := segments(rest, 2); len(parts) == 2 && allswell.IsPingKey(parts[0]) {
		c.setForeignAddress(parts[0], parts[1])
	}
	c.creates = true
	switch c.query.Get("state") {
	case "":
		c.plain = true
	case "run":
		c.kind = allswell.SignalStart
	case "complete", "ok":
	case "fail":
		c.kind = allswell.SignalFail
	default:
		c.invalid = badCronitorState
	}
	if !valid {
		c.invalid = badCronitorState
	}
	c.output = c.query.Get("message")
	if given := c.query.Get("series"); given != "" {
		c.runID = uuid.NewSHA1(series, []byte(given)).String()
	}
	if c.kind != allswell.SignalStart {
		c.setExitCode(c.query.Get("status_code"))
	}
	c.plain = c.plain && c.output == "" && c.runID == ""
	return c
}

// setExitCode sets the exit code if there is one that agrees with the kind.
func (c *contact) setExitCode(text string) {
	kind, code, ok := allswell.ParseSignal(text)
	if ok && code != nil && kind == c.kind {
		c.exitCode = code
	}
}

// readSnitch reads check-ins of Dead Man's Snitch: {ping token} or {ping key}/{slug}, with the exit status and a message in
// the query.
func readSnitch(r *http.Request, rest string) contact {
	c := contact{style: snitchStyle, kind: allswell.SignalSuccess}
	c.setQuery(r)
	if parts := segments(rest, 2); len(parts) == 2 && allswell.IsPingKey(parts[0]) {
		c.setForeignAddress(parts[0], parts[1])
	} else {
		c.address = rest
	}
	if status := c.query.Get("s"); status != "" {
		if n, err := strconv.Atoi(status); err != nil || n != 0 {
			c.kind = allswell.SignalFail
		}
		c.setExitCode(status)
	}
	c.output = c.query.Get("m")
	c.plain = c.kind == allswell.SignalSuccess && c.output == "" && c.exitCode == nil
	return c
}

// readRunID returns the run id of a query in lower case; "": there is none. ok is false if it is not a UUID, or not the
// only one.
func readRunID(query url.Values) (id string, ok bool) {
	switch given := query["rid"]; {
	case len(given) > 1:
		return "", false
	case len(given) == 0:
		return "", true
	case len(given[0]) != 36: // uuid.Parse accepts other forms
		return "", false
	default:
		parsed, err := uuid.Parse(given[0])
		return parsed.String(), err == nil
	}
}
