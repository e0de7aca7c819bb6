package settings

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// DefaultFile is the path of the configuration file that is read if it exists.
const DefaultFile = "/etc/allswell/allswell.env"

// FileSetting is the setting of all commands that read the configuration file. A command that has it takes the values
// of its other settings from the file, unless they are set by flags or environment variables.
type FileSetting struct {
	Config string `env:"ALLSWELL_CONFIG" placeholder:"PATH" help:"File of ALLSWELL_…=value lines. Empty: /etc/allswell/allswell.env, if it exists."`
}

// Assignment is a line of a configuration file.
type Assignment struct {
	Name, Value string
	Line        int // counted from 1
}

// SyntaxError is a line of a configuration file that cannot be read.
type SyntaxError struct {
	Line   int
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// ParseFile parses a configuration file with the syntax of systemd's EnvironmentFile: lines NAME=VALUE, comments that
// begin with # or ;, values in single or double quotes, and a backslash before a special character or the end of a line
// that continues. Unlike systemd it refuses lines that it does not understand. The error is a *SyntaxError.
func ParseFile(text string) ([]Assignment, error) {
	p := fileParser{
		text: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\ufeff")), line: 1,
	}
	var all []Assignment
	for {
		p.skip(" \t\n")
		switch {
		case p.text == "":
			return all, nil
		case p.text[0] == '#' || p.text[0] == ';':
			p.until('\n')
			continue
		}
		a := Assignment{Line: p.line}
		name, isAssignment := p.until('=')
		a.Name = strings.TrimSpace(name)
		if !isAssignment || !isVariableName(a.Name) {
			return nil, &SyntaxError{a.Line, "expected NAME=VALUE"}
		}
		var reason string
		a.Value, reason = p.value()
		if reason == "" && (!utf8.ValidString(a.Value) || strings.ContainsRune(a.Value, 0)) {
			reason = "the value is not text in UTF-8"
		}
		if reason != "" {
			return nil, &SyntaxError{a.Line, reason}
		}
		all = append(all, a)
	}
}

// fileParser is the part of a configuration file that is not parsed yet.
type fileParser struct {
	text string
	line int
}

// next removes the first byte of the text and returns it.
func (p *fileParser) next() byte {
	c := p.text[0]
	p.text = p.text[1:]
	if c == '\n' {
		p.line++
	}
	return c
}

func (p *fileParser) skip(set string) {
	for p.text != "" && strings.IndexByte(set, p.text[0]) >= 0 {
		p.next()
	}
}

// until removes the text up to and including delimiter, which must be in this line, and returns what is before it.
// Without a delimiter it removes the rest of the line.
func (p *fileParser) until(delimiter byte) (before string, found bool) {
	line, _, _ := strings.Cut(p.text, "\n")
	before, _, found = strings.Cut(line, string(delimiter))
	p.text = p.text[len(before):]
	if found {
		p.next()
	}
	return before, found
}

// value removes a value and the end of its line. reason is not empty if the value is invalid.
func (p *fileParser) value() (value, reason string) {
	var b strings.Builder
	kept := 0     // length of the value without spaces at its end
	start := true // a quote begins quoted text here; later in a value it is a character like others
	p.skip(" \t")
	for p.text != "" {
		switch c := p.next(); {
		case c == '\n':
			return b.String()[:kept], ""
		case c == '\\':
			if p.text != "" && p.text[0] != '\n' {
				b.WriteByte(p.next())
			} else if p.text != "" {
				p.next()
			}
			kept, start = b.Len(), false
		case (c == '"' || c == '\'') && start:
			if !p.quoted(&b, c) {
				return "", "the quote at the beginning of the value has no end"
			}
			kept = b.Len()
			p.skip(" \t")
		default:
			start = false
			b.WriteByte(c)
			if c != ' ' && c != '\t' {
				kept = b.Len()
			}
		}
	}
	return b.String()[:kept], ""
}

// quoted appends the text up to the closing quote, and returns false if there is none.
func (p *fileParser) quoted(b *strings.Builder, quote byte) bool {
	for p.text != "" {
		switch c := p.next(); {
		case c == quote:
			return true
		case c == '\\' && quote == '"' && p.text != "":
			escaped := p.next()
			if escaped != '\n' && strings.IndexByte("\"\\`$", escaped) < 0 {
				b.WriteByte(c)
			}
			if escaped != '\n' {
				b.WriteByte(escaped)
			}
		default:
			b.WriteByte(c)
		}
	}
	return false
}

func isVariableName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
