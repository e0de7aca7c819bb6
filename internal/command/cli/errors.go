package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// stepError is the error of one of several calls of a command.
type stepError struct {
	step    string // what failed, and what was done before
	changed bool   // earlier calls have changed something
	err     error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// after adds to an error what the command did before it.
func after(done string, err error) error { return &stepError{done, true, err} }

// Message returns the text of a command's error for the user. It words errors of the API by their codes, and with the
// flags and arguments of the command. parsed is nil if the command line could not be parsed.
func Message(parsed *kong.Context, err error) string {
	refused := (*client.Error)(nil)
	if !errors.As(err, &refused) {
		return err.Error()
	}
	step, words := (*stepError)(nil), newFieldWords(parsed)
	if !errors.As(err, &step) {
		return describe(refused, words, false)
	}
	return step.step + ": " + describe(refused, words, step.changed)
}

// describe describes an error of the API. changed means that the command has changed something before the error.
func describe(refused *client.Error, words fieldWords, changed bool) string {
	switch refused.Code {
	case client.CodeUnauthenticated:
		return "the token was refused: it is wrong, revoked, or of another Allswell server (ALLSWELL_TOKEN or --token)"
	case client.CodeNotFound:
		return "there is no " + missing(refused.Path) + " in the workspace of this token"
	case client.CodeRateLimited:
		return fmt.Sprintf("too many requests: try again in %d s", refused.RetryAfter/time.Second)
	case client.CodeInvalid:
		if changed || refused.Method == "GET" {
			return "the request was refused:" + fields(refused, words)
		}
		return "the request was refused, nothing was changed:" + fields(refused, words)
	}
	text := fmt.Sprintf("the server answered %d: %s", refused.Status, console.Visible(refused.Message))
	if refused.LogID != "" {
		text += " In the server's log it is " + console.Visible(refused.LogID) + "."
	}
	return text
}

// fields lists the problems of a refused request, each on its own line.
func fields(refused *client.Error, words fieldWords) string {
	if len(refused.Problems) == 0 {
		return " " + console.Visible(refused.Message)
	}
	var b strings.Builder
	for _, refused := range refused.Problems {
		p := problem(refused)
		name, text := words.subject(p.Field), p.Text(words.of)
		switch {
		case p.Field == "id": // the resource itself
			text = p.Message()
		case p.IsPredicate():
			text = name + ": " + strings.TrimPrefix(strings.TrimPrefix(text, "field "), "is invalid: ") + "."
		default:
			text = name + ": " + text
		}
		b.WriteString("\n  " + console.Visible(text))
	}
	return b.String()
}

// problem returns a problem of the API as a problem of the domain, which has the texts.
func problem(p client.Problem) kernel.Problem {
	args := make([]any, len(p.Args))
	for i, arg := range p.Args {
		if name, ok := arg.(client.FieldName); ok {
			arg = kernel.Name(name)
		}
		args[i] = arg
	}
	return kernel.Problem{Field: p.Field, Code: p.Code, Args: args}
}

// nouns are the resources in the API's collections.
var nouns = map[string]string{
	"pages": "page", "groups": "group", "components": "component", "incidents": "incident",
	"maintenances": "maintenance", "announcements": "announcement", "monitors": "monitor", "subscribers": "subscriber",
	"deliveries": "delivery", "incident-templates": "template", "updates": "update",
	"members": "member", "invitations": "invitation", "sessions": "session", "pings": "ping or signal",
	"channels": "channel", "alert-rules": "rule", "alerts": "alert", "silences": "silence",
	"on-call": "on-call schedule",
}

// missing describes the resource that a path names.
func missing(path string) string {
	segments := strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")
	what := ""
	for i := 0; i+1 < len(segments); i += 2 {
		noun := nouns[segments[i]]
		given, err := url.PathUnescape(segments[i+1])
		if noun == "" || err != nil {
			break
		}
		switch {
		case noun == "page":
			what = fmt.Sprintf("page with the slug %q", console.Visible(given))
		case noun == "update" || noun == "ping or signal":
			what = fmt.Sprintf("%s %q of the %s", noun, console.Visible(given), what)
		case what != "":
			what = fmt.Sprintf("%s %q on a %s", noun, console.Visible(given), what)
		default:
			what = fmt.Sprintf("%s %q", noun, console.Visible(given))
		}
	}
	if segments[len(segments)-1] == "postmortem" {
		what = "post-mortem of the " + what
	}
	return cmp.Or(what, "such resource")
}
