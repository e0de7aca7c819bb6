package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/internal/command/console"
)

//go:generate go test -run ^TestManualPage$ . -update

var update = flag.Bool("update", false, "rewrite the manual page")

const manualPage = "../../deploy/packages/allswell.1"

// sharedFlags are flags that nearly all commands have. They are described once.
var sharedFlags = map[string]bool{"help": true, "server": true, "token": true, "json": true, "wide": true}

// TestManualPage compares the manual page of the packages with the one that the command tree gives.
func TestManualPage(t *testing.T) {
	parser, err := program().Parser(&console.Console{})
	if err != nil {
		t.Fatal(err)
	}
	page := newManual(parser.Model).String()
	if *update {
		if err := os.WriteFile(manualPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(manualPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != page {
		t.Errorf("%s is not current: go generate ./cmd/allswell", manualPage)
	}
}

// TestRoffText escapes what troff would read as requests and escapes.
func TestRoffText(t *testing.T) {
	for text, want := range map[string]string{
		`a \n b`:      `a \en b`,
		"--wide":      `\-\-wide`,
		".env":        `\&.env`,
		"'*/15 8-18'": `\&\(aq*/15 8\-18\(aq`,
		"a\n.b":       "a\n\\&.b",
		"30s…":        `30s\[u2026]`,
	} {
		if got := roffText(text); got != want {
			t.Errorf("roffText(%q) = %q, want %q", text, got, want)
		}
	}
}

// manual is a manual page in the macros of man(7).
type manual struct{ strings.Builder }

func newManual(app *kong.Application) *manual {
	m := new(manual)
	m.line(`.\" Written by go generate ./cmd/allswell.`)
	m.line(".TH ALLSWELL 1 \"\" Allswell \"User Commands\"")
	m.section("NAME")
	m.text("allswell - status page, heartbeat monitor and uptime checker")
	m.section("SYNOPSIS")
	m.line(".B allswell\n.I command\n[\\fIflags\\fR]")
	m.section("DESCRIPTION")
	m.text("Jobs ping a URL. When a ping is overdue, Allswell changes the public status page and notifies its " +
		"subscribers.")
	paragraphs := strings.Split(app.Help, "\n\n")
	m.paragraph(paragraphs[1]) // the first one is in the section NAME, the last one in EXIT STATUS
	m.section("COMMANDS")
	for _, leaf := range app.Leaves(true) {
		m.command(leaf)
	}
	m.section("FLAGS OF MOST COMMANDS")
	for _, leaf := range app.Leaves(true) {
		if leaf.FullPath() == "allswell page list" {
			for _, f := range leaf.Flags {
				if sharedFlags[f.Name] {
					m.flag(f)
				}
			}
		}
	}
	m.section("FILES")
	m.tagged("/etc/allswell/allswell.env",
		"Settings of serve: lines ALLSWELL_...=value. Every setting is described above as a flag of serve, with its "+
			"variable.")
	m.tagged("/var/lib/allswell", "The database of the service, with SQLite, and its key.")
	m.section("EXIT STATUS")
	m.text(paragraphs[len(paragraphs)-1])
	m.section("SEE ALSO")
	m.text("https://github.com/allswell/allswell")
	return m
}

// command describes a command and its flags.
func (m *manual) command(leaf *kong.Node) {
	m.line(".SS " + roffText(leaf.Summary()))
	m.text(leaf.Help)
	if leaf.Detail != "" {
		for _, paragraph := range strings.Split(leaf.Detail, "\n\n") {
			m.paragraph(paragraph)
		}
	}
	for _, p := range leaf.Positional {
		m.tagged(p.Summary(), p.Help)
	}
	for _, f := range leaf.Flags {
		if !f.Hidden && !sharedFlags[f.Name] {
			m.flag(f)
		}
	}
}

func (m *manual) flag(f *kong.Flag) {
	name := "--" + f.Name
	if f.Short != 0 {
		name = fmt.Sprintf("-%c, %s", f.Short, name)
	}
	if !f.IsBool() && !f.IsCounter() {
		name += "=" + f.FormatPlaceHolder()
	}
	m.tagged(name, console.FlagHelp(f.Value))
}

func (m *manual) section(name string) { m.line(".SH " + name) }

func (m *manual) paragraph(text string) {
	m.line(".PP")
	m.text(text)
}

func (m *manual) tagged(tag, text string) {
	m.line(".TP\n.B " + roffText(tag))
	m.text(text)
}

func (m *manual) text(text string) { m.line(roffText(strings.TrimSpace(text))) }

func (m *manual) line(text string) { m.WriteString(text + "\n") }

// roffText returns a text that troff prints literally: no character of it begins an escape, and no line is a request.
func roffText(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			b.WriteString(`\&`)
		}
		for _, r := range line {
			switch {
			case r == '\\':
				b.WriteString(`\e`)
			case r == '-':
				b.WriteString(`\-`)
			case r == '\'':
				b.WriteString(`\(aq`)
			case r == '^' || r == '~' || r == '`':
				fmt.Fprintf(&b, `\[u%04X]`, r) // troff prints them as accents
			case r > '~':
				fmt.Fprintf(&b, `\[u%04X]`, r)
			default:
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}
