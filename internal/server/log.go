package server

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxBufferedLog is how many bytes of the access log are written at a time.
	maxBufferedLog = 64 << 10

	// logDelay is the maximum time until a line of the access log is written.
	logDelay = 100 * time.Millisecond
)

// logBuffer is a Writer that delays what is written to it, so that one system call writes many lines of the access log.
// It is safe for concurrent use.
type logBuffer struct {
	out io.Writer

	mu      sync.Mutex
	lines   []byte
	planned bool // Flush will be called
}

// Write buffers lines for up to logDelay. It writes them immediately if there are too many.
func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line...)
	if len(b.lines) >= maxBufferedLog {
		return len(line), b.flush()
	}
	if !b.planned {
		b.planned = true
		time.AfterFunc(logDelay, func() { b.Flush() })
	}
	return len(line), nil
}

// Flush writes all lines that are buffered.
func (b *logBuffer) Flush() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.planned = false
	return b.flush()
}

func (b *logBuffer) flush() error {
	if len(b.lines) == 0 {
		return nil
	}
	_, err := b.out.Write(b.lines)
	b.lines = b.lines[:0]
	return err
}

// immediateHandler is a log handler that writes its line, and the lines buffered before it, before Handle returns.
type immediateHandler struct {
	slog.Handler // writes to the buffer
	buffer       *logBuffer
}

func (h *immediateHandler) Handle(ctx context.Context, r slog.Record) error {
	if err := h.Handler.Handle(ctx, r); err != nil {
		return err
	}
	return h.buffer.Flush()
}

func (h *immediateHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &immediateHandler{h.Handler.WithAttrs(attrs), h.buffer}
}

func (h *immediateHandler) WithGroup(name string) slog.Handler {
	return &immediateHandler{h.Handler.WithGroup(name), h.buffer}
}

// Logger returns a logger that writes to w in the configured format, from the configured level on. Nothing else may
// write to w, because the logger buffers.
func (c Config) Logger(w io.Writer) *slog.Logger {
	buffer := &logBuffer{out: w}
	options := &slog.HandlerOptions{Level: c.LogLevel}
	var handler slog.Handler = slog.NewTextHandler(buffer, options)
	if c.LogJSON {
		handler = slog.NewJSONHandler(buffer, options)
	}
	return slog.New(&immediateHandler{handler, buffer})
}

// flushAccessLog writes the lines of the access log that are still buffered.
func flushAccessLog(log *slog.Logger) {
	if h, ok := log.Handler().(*immediateHandler); ok {
		h.buffer.Flush()
	}
}
