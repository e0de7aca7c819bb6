package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/configfield"
	"github.com/allswell/allswell/internal/console"
)

// stepError is an error of one of several calls of a command.
type stepError struct {
	step    string // what failed, and what was done before
	changed bool   // earlier calls have changed something
	err     error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// after adds to an error what the command did before it.
func after(done string, err error) error { return &stepError{done, true, err} }

// flagError is an error about a field that one of several flags gives.
type flagError struct {
	field, flag string
	err         error
}

func (e *flagError) Error() string { return e.err.Error() }
func (e *flagError) Unwrap() error { return e.err }

// Message returns the text of a command's error for the user. Errors of the API are described in terms of the command
// line: by the codes of the errors, and with the names of the flags.
func Message(err error) string {
	refused := (*client.Error)(nil)
	if !errors.As(err, &refused) {
		return err.Error()
	}
	step := (*stepError)(nil)
	if !errors.As(err, &step) {
		return describe(err, refused, false)
	}
	return step.step + ": " + describe(err, refused, step.changed)
}

// describe describes an error of the API, which err wraps. changed is whether the command has changed something.
func describe(err error, refused *client.Error, changed bool) string {
	switch refused.Code {
	case client.CodeUnauthenticated:
		return "the token was refused: it is wrong, revoked, or of another Allswell server (ALLSWELL_TOKEN or --token)"
	case client.CodeNotFound:
		return "there is no " + missing(refused.Path) + " in the workspace of this token"
	case client.CodeRateLimited:
		return fmt.Sprintf("too many requests: try again in %d s", refused.RetryAfter/time.Second)
	case client.CodeInvalid:
		if changed || refused.Method == "GET" {
			return "the request was refused:" + fields(err, refused)
		}
		return "the request was refused, nothing was changed:" + fields(err, refused)
	}
	text := fmt.Sprintf("the server answered %d: %s", refused.Status, console.Visible(refused.Message))
	if refused.LogID != "" {
		text += " In the server's log it is " + console.Visible(refused.LogID) + "."
	}
	return text
}

// fields lists what was refused, each problem on its own line.
func fields(err error, refused *client.Error) string {
	if len(refused.Problems) == 0 {
		return " " + console.Visible(refused.Message)
	}
	flag := (*flagError)(nil)
	errors.As(err, &flag)
	var b strings.Builder
	for _, p := range refused.Problems {
		name, text := flagOf(p.Field), p.Text(wordOf)
		if flag != nil && flag.field == p.Field {
			name = flag.flag
		}
		switch {
		case name == "": // the resource itself
			text = p.Message()
		case p.IsPredicate():
			text = name + ": " + strings.TrimPrefix(text, "field ") + "."
		default:
			text = name + ": " + text
		}
		b.WriteString("\n  " + console.Visible(text))
	}
	return b.String()
}

// nouns are the resources in the API's collections.
var nouns = map[string]string{
	"pages": "page", "groups": "group", "components": "component", "incidents": "incident", "maintenances": "maintenance", "announcements": "announcement",
	"monitors": "monitor", "subscribers": "subscriber", "deliveries": "delivery", "incident-templates": "template", "updates": "update",
	"members": "member", "invitations": "invitation", "sessions": "session", "pings": "ping or signal", "channels": "channel", "alert-rules": "rule", "alerts": "alert", "silences": "silence", "on-call": "on-call schedule",
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

// flags are the flags of fields with another name.
var flags = map[string]string{
	"scheduled_for": "--at/--in", "scheduled_until": "--until/--for", "remind_before": "--remind", "shown_from": "--from", "shown_until": "--until/--for", "time_zone": "--time-zone",
	"footer_links": "--footer", "component_id": "--component", "failure_threshold": "--failure-threshold",
	"channel_ids": "--channel", "on_call_ids": "--on-call", "fallback_id": "--fallback", "schedule.expression": "--cron/--calendar", "schedule.time_zone": "--time-zone", "schedule.kubernetes": "--kubernetes", "id": "",
	"down_status": "--down-status", "target": flagsOfChannels(), "per_page": "--limit",
}

// listField matches a field of an object in a list: components.0.status.
var listField = regexp.MustCompile(`^(component|footer_link)s\.([0-9]{1,4})(?:\.(\w+))?$`)

// flagOf returns the name of a field on the command line.
func flagOf(field string) string {
	if m := listField.FindStringSubmatch(field); m != nil {
		n, _ := strconv.Atoi(m[2]) // digits
		name := fmt.Sprintf("%s %d", strings.ReplaceAll(m[1], "_", " "), n+1)
		if m[3] != "" {
			name += ", " + m[3]
		}
		return name
	}
	if flag, known := flags[field]; known {
		return flag
	}
	return field
}

// wordOf returns the flag of a field that an error about another one names.
func wordOf(field string) string {
	for _, shared := range [][]configfield.Shared{check.Fields(), alertchannel.Fields()} {
		if i := slices.IndexFunc(shared, func(f configfield.Shared) bool { return f.Name == field }); i >= 0 && flags[field] == "" {
			return "--" + flagName(shared[i].Field)
		}
	}
	return flagOf(field)
}
