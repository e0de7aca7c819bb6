package server

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/worker/ping"
)

// answered describes a request and its response.
type answered struct {
	surface surface
	request *http.Request
	status  int
	bytes   int64 // of the response's body
	id      string
	began   time.Time
	took    time.Duration

	streamed bool // took is the duration of an event stream and not a response time
}

// observe counts a response and writes its line of the access log: pings and health checks at level debug, all others
// at info. The line contains no header, query or body, and no token that is part of the path.
func (rt *router) observe(a answered) {
	rt.observed.countResponse(response{a.surface, a.status})
	if !a.streamed {
		rt.observed.durations[a.surface].Observe(a.took.Seconds())
	}
	level := slog.LevelInfo
	if a.surface == surfaceHeartbeat || a.surface == surfaceService {
		level = slog.LevelDebug
	}
	rt.accessLog.write(level, a)
}

// accessLog writes a line for each request, in the format of the slog handlers. It formats lines itself because that
// takes a third of the time; serving a page hardly takes longer than a slog line. A line may be written up to logDelay
// late, and is lost if the process is killed before that.
type accessLog struct {
	out   io.Writer // nil: no log
	level slog.Level
	json  bool
}

// newAccessLog returns the access log, which writes to the same place as log.
func newAccessLog(c Config, log *slog.Logger) *accessLog {
	if h, ok := log.Handler().(*immediateHandler); ok {
		return &accessLog{h.buffer, c.LogLevel, c.LogJSON}
	}
	return &accessLog{}
}

var accessLines = sync.Pool{New: func() any { return new([]byte) }}

func (l *accessLog) write(level slog.Level, a answered) {
	if l.out == nil || level < l.level {
		return
	}
	buffer := accessLines.Get().(*[]byte)
	defer accessLines.Put(buffer)
	line := logLine{(*buffer)[:0], l.json}
	line.begin(a.began.Add(a.took), level, "request")
	line.text("method", a.request.Method[:min(len(a.request.Method), maxLoggedMethod)])
	line.text("path", loggedPath(a.request.URL.Path))
	line.number("status", int64(a.status))
	line.number("bytes", a.bytes)
	line.duration("took", a.took.Round(time.Microsecond))
	if client := clientaddr.Of(a.request); client.IsValid() {
		line.address("client", client)
	} else {
		line.text("client", a.request.RemoteAddr)
	}
	line.text("id", a.id)
	line.end()
	*buffer = line.bytes
	l.out.Write(line.bytes) // an error leaves nowhere to report it
}

const (
	maxLoggedMethod = 16  // bytes
	maxLoggedPath   = 200 // bytes

	// minSecretLength is the length from which a run of letters and digits may be a secret. Ping tokens have this
	// length, API tokens are longer.
	minSecretLength = 32
)

// loggedPath returns a path for the log, shortened to maxLoggedPath and without anything that may be a token: what
// follows /heartbeat/ or another of ping.Prefixes, and runs of minSecretLength or more letters and digits.
func loggedPath(path string) string {
	const heartbeat = "/heartbeat/"
	for i := 0; i+len(heartbeat) <= len(path); i++ {
		if strings.EqualFold(path[i:i+len(heartbeat)], heartbeat) {
			path = path[:i+len(heartbeat)] + "…"
			break
		}
	}
	for _, prefix := range ping.Prefixes {
		if len(path) > len(prefix) && strings.EqualFold(path[:len(prefix)], prefix) {
			path = path[:len(prefix)] + "…"
			break
		}
	}
	if len(path) < minSecretLength { // too short for a secret
		return path
	}
	var out strings.Builder
	for rest := path; rest != "" && out.Len() < maxLoggedPath; {
		run := strings.IndexFunc(rest, func(r rune) bool { return !isAlphanumeric(r) })
		switch {
		case run < 0:
			run = len(rest)
		case run == 0:
			run = strings.IndexFunc(rest, isAlphanumeric)
			if run < 0 {
				run = len(rest)
			}
			out.WriteString(rest[:run])
			rest = rest[run:]
			continue
		}
		if run >= minSecretLength {
			out.WriteString("…")
		} else {
			out.WriteString(rest[:run])
		}
		rest = rest[run:]
	}
	text := out.String()
	if len(text) > maxLoggedPath {
		// Cut off the end: leaving out the middle could join two short runs to a long one. Do not split a character.
		cut := maxLoggedPath
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

func isAlphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}
