package ping

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/store"
)

const (
	// maxBody is how much of the body of a signal is read, for at most maxBodyTime. If there is more, the
	// connection is closed after the answer. The last monitor.MaxOutput bytes are kept.
	maxBody     = 10 << 20
	maxBodyTime = 5 * time.Second
)

// badRun is the answer to a signal with an invalid run id.
var badRun = newAnswer(http.StatusUnprocessableEntity,
	`{"message":"The given data was invalid.","errors":{"rid":["The rid must be a UUID."]}}`)

// serveContact answers a request to any path except the path of plain pings. Its statuses mean what ServeHTTP
// documents.
func (s *Server) serveContact(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	c := readContact(r, r.URL.RawQuery)
	h := w.Header()
	c.style.setHeaders(h)
	c.address = strings.Clone(c.address) // a substring of the request
	a := s.admitContact(h, r, c, now)
	if a == nil && hasForm(r) {
		var form string
		if form, a = s.readForm(w, r, c.address, now); a == nil {
			c = readContact(r, r.URL.RawQuery+"&"+form)
			c.address = strings.Clone(c.address)
			a = c.invalid
		}
	}
	if a != nil || c.plain || !c.body {
		if r.ContentLength != 0 {
			drain(w, r)
		}
		if a != nil {
			respond(w, r, a)
			return
		}
	}
	if c.plain {
		respond(w, r, s.answer(r.Context(), c, func(ctx context.Context) store.PingResult {
			return s.recordPlain(ctx, r, c.address, now)
		}))
		return
	}
	body := output{kept: []byte(c.output)}
	if c.body {
		var release func()
		body, release = s.readOutput(w, r)
		defer release()
	}
	body.trim()
	n := store.NewSignal{
		Token: c.address, Kind: c.kind, ExitCode: c.exitCode, RunID: c.runID, UserAgent: userAgent(r.UserAgent()),
	}
	if client := clientaddr.Of(r); client.IsValid() {
		n.Address = client.String()
	}
	n.OutputSize, n.OutputCut, n.Output = len(body.kept), body.cut, store.PackOutput(body.kept)
	if n.Kind == monitor.SignalFail {
		n.Excerpt = monitor.OutputText(body.kept, monitor.MaxOutputExcerpt)
	}
	respond(w, r, s.answer(r.Context(), c, func(ctx context.Context) store.PingResult {
		return s.recordSignal(ctx, n, now)
	}))
}

// answer records a contact, and creates its monitor if it asks for that: all of it within commitTimeout, like other
// pings.
func (s *Server) answer(ctx context.Context, c contact, record func(context.Context) store.PingResult) *answer {
	if !c.creates {
		return c.style.of(record(context.WithoutCancel(ctx)))
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	result := record(ctx)
	if result != store.PingUnknown {
		return c.style.of(result)
	}
	created, refused := s.provision(ctx, c)
	if refused != nil {
		return refused
	}
	if result = record(ctx); result == store.PingRecorded && created {
		return c.style.created
	}
	return c.style.of(result)
}

// recordPlain records a plain ping.
func (s *Server) recordPlain(ctx context.Context, r *http.Request, address string, now time.Time) store.PingResult {
	p, ok := s.batcher.join(address, clientOf(r), now)
	if !ok {
		s.batcher.rejectUnqueued(address, now)
		return store.PingFailed
	}
	return p.wait(ctx)
}

// recordSignal records a signal that arrived at now; its body may have taken longer.
func (s *Server) recordSignal(ctx context.Context, n store.NewSignal, now time.Time) store.PingResult {
	if n.Kind == monitor.SignalStart {
		n.Repeated = s.unacknowledged.take(store.ShortTokenHash(n.Token), now)
	}
	p, ok := s.batcher.joinSignal(n, time.Now())
	if !ok {
		s.noteUnacknowledged(n.Kind, n.Token, now)
		if n.Kind == monitor.SignalSuccess {
			s.batcher.rejectUnqueued(n.Token, now)
		}
		return store.PingFailed
	}
	result := p.wait(ctx)
	if result == store.PingFailed {
		s.noteUnacknowledged(n.Kind, n.Token, time.Now())
	}
	return result
}

// noteUnacknowledged notes a signal that its job will repeat, if it is a start.
func (s *Server) noteUnacknowledged(kind monitor.SignalKind, address string, now time.Time) {
	if kind == monitor.SignalStart && s.batcher.tokens.has(hashOf(address)) {
		s.unacknowledged.add(store.ShortTokenHash(address), now)
	}
}

// admitContact returns the answer to a contact that cannot be recorded. A success over the rate limit is a sign of
// life, as a ping is; other signals are not.
func (s *Server) admitContact(h http.Header, r *http.Request, c contact, now time.Time) *answer {
	method, known := isMethod(r.Method), monitor.IsPingAddress(c.address)
	if s.limited && !s.allowed(h, r, now) {
		if known && method && c.invalid == nil && c.kind == monitor.SignalSuccess {
			s.batcher.reject(c.address, now)
		}
		if known && method && c.invalid == nil {
			s.noteUnacknowledged(c.kind, c.address, now)
		}
		return cmp.Or(c.style.tooMany, s.tooMany)
	}
	switch {
	case !method:
		h["Allow"] = allow
		return c.style.badMethod
	case !known:
		return c.style.unknown
	}
	return c.invalid
}

// userAgent returns the beginning of a client's name as text.
func userAgent(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	if len(text) <= monitor.MaxUserAgentLength {
		return text
	}
	if runes := []rune(text); len(runes) > monitor.MaxUserAgentLength {
		text = string(runes[:monitor.MaxUserAgentLength])
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
	if len(o.kept) >= 2*monitor.MaxOutput {
		o.trim()
	}
	return len(p), nil
}

// trim drops the beginning of an output that is too long. What is left begins with a whole character if it is UTF-8.
func (o *output) trim() {
	if len(o.kept) <= monitor.MaxOutput {
		return
	}
	o.cut = true
	rest := o.kept[len(o.kept)-monitor.MaxOutput:]
	for i := 0; i < utf8.UTFMax-1 && !utf8.RuneStart(rest[0]); i++ {
		rest = rest[1:]
	}
	o.kept = append(o.kept[:0], rest...)
}

// readOutput reads the end of the body; nothing of it if there is no room in s.outputs, which release gives back.
func (s *Server) readOutput(w http.ResponseWriter, r *http.Request) (o output, release func()) {
	if r.ContentLength == 0 {
		return o, func() {}
	}
	size := int64(3 * monitor.MaxOutput) // with the copy that output.Write reads from, and the packed one
	if r.ContentLength > 0 {
		size = min(size, 3*r.ContentLength)
	}
	release, ok := s.outputs.reserve(r, size)
	if !ok {
		drain(w, r)
		return output{cut: true}, release
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
		return o, release
	}
	if bounded {
		conn.SetReadDeadline(time.Time{}) // net/http sets its own for the next request
	}
	return o, release
}
