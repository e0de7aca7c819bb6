package ping

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/google/uuid"
)

// Paths of other services.
const (
	healthchecksPath = "/ping/"
	kumaPath         = "/api/push/"
	cronitorPath     = "/p/"
	snitchPath       = "/snitch/"
)

// Prefixes are the beginnings of all paths that this package serves. What follows is secret. All but Path belong to
// other services, so that jobs move here unchanged: see docs/moving.md.
var Prefixes = []string{Path, healthchecksPath, kumaPath, cronitorPath, snitchPath}

// contact is the content of a request, independent of the service whose path it uses.
type contact struct {
	style    *style
	address  string // a ping address; another string is unknown
	name     string // of the monitor that it may create
	kind     monitor.SignalKind
	plain    bool // a plain ping, whose body is ignored
	exitCode *int
	runID    string
	output   string  // given in the query
	body     bool    // the body is output
	query    query   // for the monitor that it may create
	creates  bool    // asks for a monitor to be created
	invalid  *answer // nil: it is valid

	unreadable bool // the query has mistakes, which plain pings of ours ignore
}

// readContact reads a request, except for its body. raw is its query. A slash at the end of a path is ignored.
func readContact(r *http.Request, raw string) contact {
	at := slices.IndexFunc(Prefixes, func(prefix string) bool { return strings.HasPrefix(r.URL.Path, prefix) })
	if at < 0 {
		return contact{style: ownStyle}
	}
	rest := strings.TrimSuffix(r.URL.Path[len(Prefixes[at]):], "/")
	switch Prefixes[at] {
	case healthchecksPath:
		return readHealthchecks(rest, raw, r.ContentLength == 0)
	case kumaPath:
		return readKuma(rest, raw)
	case cronitorPath:
		return readCronitor(rest, raw)
	case snitchPath:
		return readSnitch(rest, raw)
	default:
		return readOwn(rest, raw)
	}
}

// segments splits a path into at most n segments; the last one has the rest.
func segments(path string, n int) []string { return strings.SplitN(path, "/", n) }

// setQuery reads the query. It reports whether that is valid.
func (c *contact) setQuery(g *grammar, raw string) bool {
	var ok bool
	c.query, ok = g.read(raw)
	c.creates, c.unreadable = c.query.last("create") == "1", !ok
	return ok
}

// checkVerdict makes a contact invalid if its query cannot be read, or if the contact is no failure although its query
// also has a sign of one.
func (c *contact) checkVerdict(g *grammar, raw string) {
	if c.invalid == nil && (c.unreadable || c.kind != monitor.SignalFail && g.contradicts(raw)) {
		c.invalid = c.style.unreadable
	}
}

// setAddress sets the address from a ping key and the slug of a monitor.
func (c *contact) setAddress(key, slug string) {
	c.address, c.name = monitor.SlugAddress(key, slug), slug
}

// setForeignAddress is setAddress for a slug of another service: its capital letters, underscores and dots become small
// letters and hyphens. Long slugs are not shortened, so they stay different.
func (c *contact) setForeignAddress(key, slug string) {
	c.setAddress(key, strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(slug)))
	c.name = slug
}

// readOwn reads what follows Path: {token}, {token}/{signal}, {ping key}/{slug} or {ping key}/{slug}/{signal}. The
// length of the first segment shows whether it is a ping key. Then the second one is a slug, even if it has the name of
// a signal.
func readOwn(rest, raw string) contact {
	c := contact{style: ownStyle, plain: true, kind: monitor.SignalSuccess}
	parts := segments(rest, 2)
	if monitor.IsPingKey(parts[0]) && len(parts) == 2 {
		tail := segments(parts[1], 2)
		c.setAddress(parts[0], tail[0])
		parts = append([]string{""}, tail[1:]...)
	} else {
		c.address = parts[0]
	}
	valid := c.setQuery(ownQuery, raw)
	if len(parts) == 1 {
		return c
	}
	c.plain, c.body = false, true
	var known bool
	if c.kind, c.exitCode, known = monitor.ParseSignal(parts[1]); !known {
		c.address = ""
	}
	var validRun bool
	switch c.runID, validRun = readRunID(c.query); {
	case !valid:
		c.invalid = ownStyle.unreadable
	case !validRun:
		c.invalid = badRun
	}
	return c
}

// readHealthchecks reads the paths of Healthchecks: {uuid} and {ping key}/{slug}, both with start, fail, log or an exit
// code. Cronitor's library for JavaScript uses the same path, with the state in the query.
func readHealthchecks(rest, raw string, noBody bool) contact {
	c := contact{style: healthchecksStyle, kind: monitor.SignalSuccess, body: true}
	valid := c.setQuery(healthchecksQuery, raw)
	parts := segments(rest, 4)
	if monitor.IsPingKey(parts[0]) && len(parts) > 1 {
		if len(parts) == 2 && c.query.mentions("state") {
			return readCronitor(rest, raw)
		}
		c.setForeignAddress(parts[0], parts[1])
		parts = parts[1:]
	} else {
		c.address = parts[0]
	}
	var validRun bool
	c.runID, validRun = readRunID(c.query)
	c.plain = len(parts) == 1 && c.runID == "" && noBody
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
	switch kind := monitor.SignalKind(action); kind {
	case monitor.SignalStart, monitor.SignalFail, monitor.SignalLog:
		c.kind = kind
		return
	case monitor.SignalSuccess: // Healthchecks has no such path
	}
	if action == "" || strings.Trim(action, "0123456789") != "" {
		c.address = ""
		return
	}
	var known bool
	code := strings.TrimLeft(action[:len(action)-1], "0") + action[len(action)-1:]
	c.kind, c.exitCode, known = monitor.ParseSignal(code)
	if !known {
		c.invalid = badHealthchecksCode
	}
}

// readKuma reads the path of push monitors of Uptime Kuma: {token}, with the status and a message in the query. As
// there, every status but up is a failure, and so is a list of them.
func readKuma(rest, raw string) contact {
	c := contact{style: kumaStyle, address: rest, kind: monitor.SignalSuccess}
	c.setQuery(kumaQuery, raw)
	if !kernel.IsPingToken(rest) {
		c.address = ""
	}
	c.creates = false
	if c.query.compound("status") || len(c.query.all("status")) > 1 || !goodKumaStatus(c.query.last("status")) {
		c.kind = monitor.SignalFail
	}
	if message := strings.Join(c.query.all("msg"), ", "); message != "OK" { // which its examples send
		c.output = message
	}
	c.checkVerdict(kumaQuery, raw)
	c.plain = c.kind == monitor.SignalSuccess && c.output == ""
	return c
}

// series is the namespace of the run ids that are made from Cronitor's series.
var series = uuid.MustParse("2e0b7f8c-9f0c-5d0f-8f3a-6b1f6d6d2c11")

// readCronitor reads the path of Cronitor's telemetry: {ping key}/{monitor}, with the state, the message and the series
// in the query. As there, an unknown monitor is created.
func readCronitor(rest, raw string) contact {
	c := contact{style: cronitorStyle, kind: monitor.SignalSuccess}
	c.setQuery(cronitorQuery, raw)
	if parts := segments(rest, 2); len(parts) == 2 && monitor.IsPingKey(parts[0]) {
		c.setForeignAddress(parts[0], parts[1])
	}
	c.creates = true
	switch state := c.query.last("state"); {
	case state == "run":
		c.kind = monitor.SignalStart
	case state == "fail":
		c.kind = monitor.SignalFail
	case !isCronitorSuccess(state):
		c.invalid = badCronitorState
	}
	if c.kind != monitor.SignalStart {
		c.setStatusCode(c.query.last("status_code"))
	}
	c.checkVerdict(cronitorQuery, raw)
	c.output = cmp.Or(c.query.last("message"), c.query.last("msg"))
	if given := c.query.last("series"); given != "" {
		c.runID = uuid.NewSHA1(series, []byte(given)).String()
	}
	c.plain = c.query.last("state") == "" && c.kind == monitor.SignalSuccess && c.output == "" && c.runID == "" &&
		c.exitCode == nil
	return c
}

// setStatusCode makes a success with an exit code other than 0 a failure. A code that is not a number makes the contact
// invalid.
func (c *contact) setStatusCode(text string) {
	text = strings.TrimSpace(text)
	_, err := strconv.Atoi(text)
	if numeric := err == nil || errors.Is(err, strconv.ErrRange); c.kind == monitor.SignalSuccess && text != "" {
		switch {
		case !numeric && c.invalid == nil:
			c.invalid = badCronitorCode
		case numeric && !isZero(text):
			c.kind = monitor.SignalFail
		}
	}
	c.setExitCode(text)
}

// setExitCode sets the exit code if there is one that agrees with the kind.
func (c *contact) setExitCode(text string) {
	kind, code, ok := monitor.ParseSignal(text)
	if ok && code != nil && kind == c.kind {
		c.exitCode = code
	}
}

// readSnitch reads check-ins of Dead Man's Snitch: {ping token} or {ping key}/{slug}, with the exit status and a
// message in the query or in a form.
func readSnitch(rest, raw string) contact {
	c := contact{style: snitchStyle, kind: monitor.SignalSuccess}
	c.setQuery(snitchQuery, raw)
	c.unreadable = c.unreadable || c.query.compound("s") || c.query.compound("m")
	if parts := segments(rest, 2); len(parts) == 2 && monitor.IsPingKey(parts[0]) {
		c.setForeignAddress(parts[0], parts[1])
	} else {
		c.address = rest
	}
	status := c.query.last("s")
	if !isZero(status) {
		c.kind = monitor.SignalFail
	}
	c.setExitCode(strings.TrimSpace(status))
	c.checkVerdict(snitchQuery, raw)
	c.output = c.query.last("m")
	c.plain = c.kind == monitor.SignalSuccess && c.output == "" && c.exitCode == nil
	return c
}

// readRunID returns the run id of a query in lower case; "": there is none. ok is false if it is not a UUID, or if
// there are several.
func readRunID(q query) (id string, ok bool) {
	switch given := q.all("rid"); {
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
