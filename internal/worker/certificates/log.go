package certificates

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger returns a logger for certmagic. Its messages are debug messages, because the manager logs what certmagic
// does.
func newLogger(log *slog.Logger) *zap.Logger { return zap.New(debugCore{log}) }

// debugCore is a zapcore.Core that writes to a slog.Logger.
type debugCore struct{ log *slog.Logger }

func (c debugCore) Enabled(zapcore.Level) bool {
	return c.log.Enabled(context.Background(), slog.LevelDebug)
}

func (c debugCore) With(fields []zapcore.Field) zapcore.Core {
	return debugCore{c.log.With(attributes(fields)...)}
}

func (c debugCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

func (c debugCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	c.log.Debug("certmagic: "+e.Message, attributes(fields)...)
	return nil
}

func (c debugCore) Sync() error { return nil }

// attributes returns fields as arguments of slog.Logger.
func attributes(fields []zapcore.Field) []any {
	encoder := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(encoder)
	}
	var args []any
	for key, value := range encoder.Fields {
		args = append(args, key, value)
	}
	return args
}
