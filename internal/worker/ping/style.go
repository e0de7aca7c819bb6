package ping

import (
	"net/http"
	"strconv"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
)

// style has the answers on the paths of a service.
type style struct {
	contentType []string
	cors        bool // any website may read the answers
	bodyLimit   bool // the answers say how much of a body is kept

	recorded, created, unknown, badMethod, unavailable *answer
	unreadable                                         *answer // to queries and forms that cannot be read
	tooMany                                            *answer // nil: Server.tooMany
	refused, taken, full, hasty                        *answer // to requests that would create a monitor

	invalid func(messages map[string][]string) *answer // the configuration of a monitor to create
}

// of returns the answer to a ping or a signal.
func (s *style) of(result store.PingResult) *answer {
	switch result {
	case store.PingRecorded:
		return s.recorded
	case store.PingUnknown:
		return s.unknown
	default:
		return s.unavailable
	}
}

// setHeaders sets the headers that all answers have.
func (s *style) setHeaders(h http.Header) {
	h["Content-Type"] = s.contentType
	h["Cache-Control"] = noStore
	if s.cors {
		h["Access-Control-Allow-Origin"] = anyOrigin
	}
	if s.bodyLimit {
		h["Ping-Body-Limit"] = bodyLimit
	}
}

// Values of header fields: see jsonType.
var (
	textType  = []string{"text/plain; charset=utf-8"}
	anyOrigin = []string{"*"}
	bodyLimit = []string{strconv.Itoa(monitor.MaxOutput)}
	minute    = []string{"60"}
)

// Messages of several styles.
const (
	busyText    = "The service cannot do this right now. Please try again."
	tooManyText = "Too many requests from one address. Please try again in a minute."
	refusedText = "There is no such monitor, and the ping key may not create one."
	takenText   = "Another monitor of the workspace, which is not on this page, has the slug."
	fullText    = "The page has too many monitors for pings to create more."
	queryText   = "The parameters cannot be read, or contradict each other. Nothing was recorded."
	hastyText   = "Too many monitors of the page were created in the last minute. Please try again."
)

// message returns an answer with a message in the JSON form of the API.
func message(status int, text string) *answer { return newAnswer(status, `{"message":"`+text+`"}`) }

var ownStyle = &style{
	contentType: jsonType,
	recorded:    recorded, unknown: notFound, badMethod: badMethod, unavailable: unavailable,
	created:    newAnswer(http.StatusCreated, `{"ok":true}`),
	unreadable: message(http.StatusUnprocessableEntity, queryText),
	refused:    message(http.StatusForbidden, refusedText), taken: message(http.StatusConflict, takenText),
	full: message(http.StatusForbidden, fullText), hasty: message(http.StatusTooManyRequests, hastyText),
	invalid: invalidAsJSON,
}

// healthchecksStyle has the answers of Healthchecks, and plain texts for what it does not have.
var healthchecksStyle = &style{
	contentType: textType, cors: true, bodyLimit: true,
	recorded: newAnswer(http.StatusOK, "OK"), created: newAnswer(http.StatusCreated, "Created"),
	unknown:     newAnswer(http.StatusNotFound, "not found"),
	badMethod:   newAnswer(http.StatusMethodNotAllowed, "method not allowed"),
	unavailable: newAnswer(http.StatusServiceUnavailable, busyText),
	tooMany:     newAnswer(http.StatusTooManyRequests, "rate limit exceeded"),
	unreadable:  newAnswer(http.StatusBadRequest, queryText),
	refused:     newAnswer(http.StatusForbidden, refusedText), taken: newAnswer(http.StatusConflict, "ambiguous slug"),
	full: newAnswer(http.StatusForbidden, fullText), hasty: newAnswer(http.StatusTooManyRequests, hastyText),
	invalid: invalidAsText,
}

// The answers to requests that Healthchecks and Cronitor cannot understand.
var (
	badHealthchecksRun  = newAnswer(http.StatusBadRequest, "invalid uuid format")
	badHealthchecksCode = newAnswer(http.StatusBadRequest, "invalid url format")
	badCronitorState    = newAnswer(http.StatusBadRequest, "The state must be run, complete, tick, fail or ok.")
	badCronitorCode     = newAnswer(http.StatusBadRequest, "The status_code must be a number.")
)

// kumaMessage returns an answer with a message in the form of Uptime Kuma.
func kumaMessage(status int, text string) *answer {
	return newAnswer(status, `{"ok":false,"msg":"`+text+`"}`)
}

// kumaStyle needs no answers to requests that would create a monitor.
var kumaStyle = &style{
	contentType: []string{"application/json; charset=utf-8"},
	recorded:    newAnswer(http.StatusOK, `{"ok":true}`),
	unknown:     kumaMessage(http.StatusNotFound, "Monitor not found or not active."),
	badMethod:   kumaMessage(http.StatusMethodNotAllowed, "Method not allowed."),
	unavailable: kumaMessage(http.StatusServiceUnavailable, busyText),
	tooMany:     kumaMessage(http.StatusTooManyRequests, tooManyText),
	unreadable:  kumaMessage(http.StatusBadRequest, queryText),
}

// cronitorStyle and snitchStyle differ in the answer to what was recorded.
var cronitorStyle, snitchStyle = textStyle(http.StatusOK, "OK"), textStyle(http.StatusAccepted, "Got it, thanks!")

func textStyle(status int, text string) *style {
	s := *healthchecksStyle
	s.cors, s.bodyLimit = false, false
	s.recorded = newAnswer(status, text)
	s.created, s.taken = s.recorded, newAnswer(http.StatusConflict, takenText)
	return &s
}
