// Package console connects commands to their user: the standard streams, text in aligned columns for people, and JSON
// for programs.
package console

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Console has the streams and the context of a command.
type Console struct {
	Ctx      context.Context // ends when the process is asked to stop
	In       io.Reader
	Out, Err io.Writer

	Width       int  // columns of the terminal that Out is; 0: Out is not a terminal
	ErrWidth    int  // columns of the terminal that Err is; 0: Err is not a terminal
	Interactive bool // In and Err are a terminal, so that the user can be asked
}

// unknownWidth is the width of terminals that do not know theirs.
const unknownWidth = 80

// Standard returns the console of this process.
func Standard(ctx context.Context) *Console {
	c := &Console{Ctx: ctx, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		c.Width = cmp.Or(width, unknownWidth)
	}
	if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && os.Getenv("TERM") != "dumb" {
		c.ErrWidth = cmp.Or(width, unknownWidth)
	}
	c.Interactive = term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd()))
	return c
}

// Confirm asks a question on the terminal and reports whether the answer is yes.
func (c *Console) Confirm(question string) (bool, error) {
	fmt.Fprintf(c.Err, "%s [y/N] ", question)
	type line struct {
		text string
		err  error
	}
	answer := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(c.In).ReadString('\n')
		answer <- line{text, err}
	}()
	select {
	case <-c.Ctx.Done():
		fmt.Fprintln(c.Err)
		return false, context.Cause(c.Ctx)
	case got := <-answer:
		if got.err != nil && !errors.Is(got.err, io.EOF) {
			return false, fmt.Errorf("reading the answer: %w", got.err)
		}
		switch strings.ToLower(strings.TrimSpace(got.text)) {
		case "y", "yes":
			return true, nil
		}
		return false, nil
	}
}

// Printf writes to standard output. On a terminal, the text passes through Harmless, because arguments may contain text
// from others.
func (c *Console) Printf(format string, args ...any) {
	if c.Width == 0 {
		fmt.Fprintf(c.Out, format, args...)
		return
	}
	io.WriteString(c.Out, Harmless(fmt.Sprintf(format, args...)))
}

// UsageError is an invalid command line. The command has changed nothing.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// UsageErrorf returns a *UsageError.
func UsageErrorf(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }
