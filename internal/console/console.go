// Package console connects commands to their user: the standard streams, text in aligned columns for people, and JSON
// for programs.
package console

import (
	"context"
	"fmt"
	"io"
)

// Console has the streams and the context of a command.
type Console struct {
	Ctx      context.Context // ends when the process is asked to stop
	In       io.Reader
	Out, Err io.Writer
}

// Printf writes to standard output.
func (c *Console) Printf(format string, args ...any) { fmt.Fprintf(c.Out, format, args...) }

// UsageError is an invalid command line. The command has changed nothing.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// UsageErrorf returns a *UsageError.
func UsageErrorf(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }
