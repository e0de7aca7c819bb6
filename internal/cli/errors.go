package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// apiError is a refusal or a failure that the API answered.
type apiError struct {
	Message string              `json:"message"`
	Errors  map[string][]string `json:"errors"`
	ID      string              `json:"id"`

	status     int
	path       string // that was asked, escaped
	retryAfter string
	unchanged  bool              // it was to change something, and nothing is
	typed      map[string]string // the flags that were typed, where a field has several
}

// typedAs says with which flag a field was given that several can give.
func typedAs(field, flag string, err error) error {
	if refused := (*apiError)(nil); errors.As(err, &refused) {
		refused.typed = map[string]string{field: flag}
	}
	return err
}

// afterAll adds to an error what was done before it.
func afterAll(done string, err error) error {
	if refused := (*apiError)(nil); errors.As(err, &refused) {
		refused.unchanged = false
	}
	return fmt.Errorf("%s: %w", done, err)
}

func (e *apiError) Error() string {
	switch e.status {
	case http.StatusUnauthorized:
		return "the token was refused: it is wrong, revoked, or of another Allswell (ALLSWELL_TOKEN or --token)"
	case http.StatusNotFound:
		return "there is no " + missing(e.path) + " in the workspace of this token"
	case http.StatusTooManyRequests:
		return "too many requests: the next one is taken in " + e.retryAfter + " s"
	case http.StatusUnprocessableEntity:
		if e.unchanged {
			return "the request was refused, nothing was changed:" + e.fields()
		}
		return "the request was refused:" + e.fields()
	}
	text := visible(e.Message)
	if e.ID != "" {
		text += " In the server's log it is " + visible(e.ID) + "."
	}
	return fmt.Sprintf("the server answered %d: %s", e.status, text)
}

// fields lists every field that was refused, each on its own line.
func (e *apiError) fields() string {
	var b strings.Builder
	names := make([]string, 0, len(e.Errors))
	for name := range e.Errors {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, complaint := range e.Errors[name] {
			fmt.Fprintf(&b, "\n  %s: %s", visible(cmp.Or(e.typed[name], asTyped(name))), visible(flagsIn(name, complaint)))
		}
	}
	if len(names) == 0 {
		return " " + visible(e.Message)
	}
	return b.String()
}

// nouns are what the API's collections hold.
var nouns = map[string]string{
	"pages": "page", "groups": "group", "components": "component", "incidents": "incident", "maintenances": "maintenance",
	"monitors": "monitor", "subscribers": "subscriber", "deliveries": "delivery",
}

// missing names what is not there, by the path that was asked: the object that
// its last id or slug names.
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
			what = fmt.Sprintf("page with the slug %q", visible(given))
		case what != "":
			what = fmt.Sprintf("%s %q on a %s", noun, visible(given), what)
		default:
			what = fmt.Sprintf("%s %q", noun, visible(given))
		}
	}
	if what == "" {
		return "such object"
	}
	return what
}

// typed is what people type where the API has another name for it.
var typed = map[string]string{
	"scheduled_for": "--at/--in", "scheduled_until": "--until/--for", "remind_before": "--remind", "time_zone": "--time-zone",
	"footer_links": "--footer", "component_id": "--component", "failure_threshold": "--failure-threshold",
	"down_status": "--down-status", "target": "--email/--webhook", "per_page": "--limit",
}

// listed is a field of one object in a list: components.0.status.
var listed = regexp.MustCompile(`^(component|footer_link)s\.([0-9]{1,4})(?:\.(\w+))?$`)

// asTyped names a field as whoever typed the command does.
func asTyped(field string) string {
	if m := listed.FindStringSubmatch(field); m != nil {
		n, _ := strconv.Atoi(m[2]) // digits
		name := fmt.Sprintf("%s %d", strings.ReplaceAll(m[1], "_", " "), n+1)
		if m[3] != "" {
			name += ", " + m[3]
		}
		return name
	}
	return cmp.Or(typed[field], field)
}

// flagsIn names other fields in a complaint about one as they were typed, and
// leaves its own out.
func flagsIn(field, complaint string) string {
	if typed[field] != "" {
		complaint = strings.TrimPrefix(strings.TrimPrefix(complaint, "The "+field+" "), "field ")
	}
	for name, flag := range typed {
		if strings.Contains(name, "_") {
			complaint = strings.ReplaceAll(complaint, name, flag)
		}
	}
	return complaint
}
