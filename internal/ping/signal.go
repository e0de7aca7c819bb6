package ping

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/clientaddr"
	"github.com/allswell/allswell/internal/store"
)

const (
	// maxBody is how much of the body of a signal is read, for at most maxBodyTime. If there is more, the
	// connection is closed after the answer. The last allswell.MaxOutput bytes are kept.
	maxBody     = 10 << 20
	maxBodyTime = 5 * time.Second

	// maxOutputs is the maximum memory for the bodies of all signals that wait for their commit. Further signals
	// are recorded without their bodies.
	maxOutputs = 64 << 20
)

// badRun is the answer to a signal with an invalid run id.
var badRun = newAnswer(http.StatusUnprocessableEntity, `{"message":"The given data was invalid.","errors":{"rid":["The rid must be a UUID."]}}`)

// serveSignal answers a request to a path below a ping URL. The answers mean the same as those to pings.
func (s *Server) serveSignal(w http.ResponseWriter, r *http.Request, token, name string) {
	now := time.Now()
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Cache-Control"] = noStore
	n := store.NewSignal{Token: strings.Clone(token)}
	a := s.admitSignal(h, r, &n, name, now)
	if a != nil {
		if r.ContentLength != 0 {
			drain(w, r)
		}
		respond(w, r, a)
		return
	}
	size, body := s.readOutput(w, r)
	defer s.outputs.Add(-size)
	n.OutputSize, n.OutputCut, n.Output = len(body.kept), body.cut, store.PackOutput(body.kept)
	if n.Kind == allswell.SignalFail {
		n.Excerpt = allswell.OutputText(body.kept, allswell.MaxOutputExcerpt)
	}
	p, ok := s.batcher.joinSignal(n, time.Now())
	if !ok {
		if n.Kind == allswell.SignalSuccess {
			s.batcher.rejectUnqueued(n.Token, now)
		}
		respond(w, r, unavailable)
		return
	}
	respond(w, r, answers[p.wait()])
}

// admitSignal reads a signal from everything but its body. It returns the answer if the signal cannot be recorded. A
// success over the rate limit is a sign of life, as a ping is; other signals are not.
func (s *Server) admitSignal(h http.Header, r *http.Request, n *store.NewSignal, name string, now time.Time) *answer {
	var ok, validRun bool
	n.Kind, n.ExitCode, ok = allswell.ParseSignal(name)
	method := isMethod(r.Method)
	ok = ok && allswell.IsPingToken(n.Token)
	n.RunID, validRun = readRunID(r.URL.RawQuery)
	if s.limited && !s.allowed(h, r, now) {
		if ok && method && validRun && n.Kind == allswell.SignalSuccess {
			s.batcher.reject(n.Token, now)
		}
		return s.tooMany
	}
	switch {
	case !method:
		h["Allow"] = allow
		return badMethod
	case !ok:
		return notFound
	case !validRun:
		return badRun
	}
	if client := clientaddr.Of(r); client.IsValid() {
		n.Address = client.String()
	}
	n.UserAgent = userAgent(r.UserAgent())
	return nil
}

// readRunID returns the run id of a query in lower case; "": there is none. ok is false if it is not a UUID, or not the
// only one.
func readRunID(query string) (id string, ok bool) {
	if query == "" {
		return "", true
	}
	values, err := url.ParseQuery(query)
	switch given := values["rid"]; {
	case err != nil || len(given) > 1:
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

// userAgent returns the beginning of a client's name as text.
func userAgent(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	if len(text) <= allswell.MaxUserAgentLength {
		return text
	}
	if runes := []rune(text); len(runes) > allswell.MaxUserAgentLength {
		text = string(runes[:allswell.MaxUserAgentLength])
	}
	return text
}

// output is the end of a body.
type output struct {
	kept []byte
	cut  bool // the body was longer, or not read to its end
}

// Write appends to the output. It drops the beginning when the output is twice as long as what is kept.
func (o *output) Write(p []byte) (int, error) {
	o.kept = append(o.kept, p...)
	if len(o.kept) >= 2*allswell.MaxOutput {
		o.trim()
	}
	return len(p), nil
}

// trim drops the beginning of an output that is too long. What is left begins with a whole character if it is UTF-8.
func (o *output) trim() {
	if len(o.kept) <= allswell.MaxOutput {
		return
	}
	o.cut = true
	rest := o.kept[len(o.kept)-allswell.MaxOutput:]
	for i := 0; i < utf8.UTFMax-1 && !utf8.RuneStart(rest[0]); i++ {
		rest = rest[1:]
	}
	o.kept = append(o.kept[:0], rest...)
}

// readOutput reads the end of the body. size is what it adds to s.outputs, which the caller subtracts again.
func (s *Server) readOutput(w http.ResponseWriter, r *http.Request) (size int64, o output) {
	if r.ContentLength == 0 {
		return 0, o
	}
	size = 3 * allswell.MaxOutput // with the copy that output.Write reads from, and the packed one
	if r.ContentLength > 0 {
		size = min(size, 3*r.ContentLength)
	}
	if s.outputs.Add(size) > maxOutputs {
		drain(w, r)
		return size, output{cut: true}
	}
	conn := http.NewResponseController(w)
	bounded := conn.SetReadDeadline(time.Now().Add(maxBodyTime)) == nil
	part := make([]byte, 4096)
	var err error
	for read := 0; err == nil && read <= maxBody; {
		var n int
		n, err = r.Body.Read(part)
		read += n
		o.Write(part[:n])
	}
	o.trim()
	if err != io.EOF {
		o.cut = true
		w.Header()["Connection"] = closed
		return size, o
	}
	if bounded {
		conn.SetReadDeadline(time.Time{}) // net/http sets its own for the next request
	}
	return size, o
}
