package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/settings"
)

// clientSettings are those of the commands that drive a running Allswell.
type clientSettings struct {
	URL   string `name:"url" env:"ALLSWELL_URL" default:"http://localhost:8080" placeholder:"URL" help:"Address of the Allswell to talk to."`
	Token string `env:"ALLSWELL_TOKEN" secret:"" placeholder:"SECRET" help:"API token to talk with."`
	JSON  bool   `name:"json" help:"Print what the API answers, for programs."`
}

// parse checks the settings. Nothing is sent.
func (s clientSettings) parse() (*client, error) {
	p := settings.NewParser(&s)
	base := settings.Parse(p, &s.URL, apiAddress)
	token := settings.Parse(p, &s.Token, apiToken)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return newClient(base, token), nil
}

func apiAddress(value string) (string, error) {
	base, err := settings.BaseURL(value)
	if err != nil {
		err = errors.New("the http:// or https:// address of an Allswell without a path, such as https://status.example.com")
	}
	return base, err
}

func apiToken(value string) (string, error) {
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("an API token; `allswell token create --name me` makes one")
	}
	return value, nil
}

// talk is a client command's conversation with an Allswell and with whoever
// typed it.
type talk struct {
	printer
	api *client
}

// ProvideTalk is called by the parser before a client command runs.
func (s clientSettings) ProvideTalk(c *console) (*talk, error) {
	api, err := s.parse()
	return &talk{printer{c, s.JSON}, api}, err
}

func (t *talk) get(path string) (json.RawMessage, error) {
	return t.api.call(t.ctx, http.MethodGet, path, nil)
}

func (t *talk) post(path string, fields body) (json.RawMessage, error) {
	return t.api.call(t.ctx, http.MethodPost, path, fields)
}

// patch refuses to send nothing.
func (t *talk) patch(path string, fields body) (json.RawMessage, error) {
	if len(fields) == 0 {
		return nil, &usageError{errors.New("nothing to set: name at least one thing to change (--help lists them)")}
	}
	return t.api.call(t.ctx, http.MethodPatch, path, fields)
}

func (t *talk) put(path string, fields body) (json.RawMessage, error) {
	return t.api.call(t.ctx, http.MethodPut, path, fields)
}

// upload puts bytes that are no JSON.
func (t *talk) upload(path string, raw []byte) (json.RawMessage, error) {
	answer, err := t.api.send(t.ctx, http.MethodPut, path, "application/octet-stream", bytes.NewReader(raw))
	return answer.Data, err
}

// remove deletes an object and says so.
func (t *talk) remove(path, noun, name string) error {
	if _, err := t.api.call(t.ctx, http.MethodDelete, path, nil); err != nil {
		return err
	}
	t.done("The %s %s is deleted.", noun, visible(name))
	return nil
}

// find returns the id of the object that is meant: given by its id, which
// begins with prefix, or by its name (a subscriber's is its target) if only one
// of the list has it.
func (t *talk) find(noun, prefix, given, path string) (string, error) {
	if strings.HasPrefix(given, prefix) {
		return given, nil
	}
	objects, _, err := t.api.list(t.ctx, path, maxFind)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, raw := range objects {
		named, err := decode[struct{ ID, Name, Target string }](raw)
		if err != nil {
			return "", err
		}
		if cmp.Or(named.Name, named.Target) == given {
			ids = append(ids, visible(named.ID))
		}
	}
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("there is no %s named %q, and ids begin with %s", noun, given, prefix)
	case 1:
		return ids[0], nil
	}
	return "", fmt.Errorf("several %ss are named %q: give the id of one (%s)", noun, given, someOf(ids))
}

// someOf lists the first few ids, and says how many more there are.
func someOf(ids []string) string {
	const most = 5
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

// maxFind is how many objects are searched for a name.
const maxFind = 10_000

// text adds a field if it was given.
func (b body) text(name string, value *string) body {
	if value != nil {
		b[name] = *value
	}
	return b
}

// textOrNull adds a field that can also be cleared.
func (b body) textOrNull(name string, value *string, clear bool) body {
	if clear {
		b[name] = nil
		return b
	}
	return b.text(name, value)
}

// number adds a field if it was given.
func (b body) number(name string, value *int) body {
	if value != nil {
		b[name] = *value
	}
	return b
}

// flag adds a field if it was given.
func (b body) flag(name string, value *bool) body {
	if value != nil {
		b[name] = *value
	}
	return b
}

// listing is embedded by the commands that list.
type listing struct {
	Limit count `default:"1000" placeholder:"COUNT" help:"The most objects that are listed."`
}

// count is a number of objects on the command line.
type count int

// UnmarshalText reads a number from 1 to 100000.
func (n *count) UnmarshalText(text []byte) error {
	v, err := strconv.Atoi(string(text))
	if err != nil || v < 1 || v > 100_000 {
		return errors.New("must be a whole number from 1 to 100000")
	}
	*n = count(v)
	return nil
}

// seconds is an interval on the command line: a duration, or a bare number of
// seconds. Whether it is within the limits is for the server to say.
type seconds int64

// duration returns the time that it is.
func (s seconds) duration() time.Duration { return time.Duration(s) * time.Second }

// instant is a point in time on the command line.
type instant time.Time

// UnmarshalText reads "2026-11-21T22:00:00+01:00".
func (i *instant) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return errors.New("must be a time with its zone, such as 2026-11-21T22:00:00+01:00 or 2026-11-21T21:00:00Z")
	}
	*i = instant(t)
	return nil
}

// weeksAndDays is the part of a duration that time.ParseDuration does not know.
var weeksAndDays = regexp.MustCompile(`^(?:([0-9]{1,6})w)?(?:([0-9]{1,6})d)?`)

// UnmarshalText reads "5m", "90s", "2d", "1w", "1d12h" or "300".
func (s *seconds) UnmarshalText(text []byte) error {
	wrong := errors.New("must be in whole seconds: with the units w, d, h, m and s, such as 30s, 5m, 25h, 2d or 1d12h, or a bare number such as 300")
	value := string(text)
	if value != "" && strings.Trim(value, "0123456789") == "" {
		value += "s"
	}
	long := weeksAndDays.FindStringSubmatch(value)
	weeks, _ := strconv.ParseInt(cmp.Or(long[1], "0"), 10, 64) // digits
	days, _ := strconv.ParseInt(cmp.Or(long[2], "0"), 10, 64)
	rest := value[len(long[0]):]
	if long[0] != "" {
		if strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
			return wrong
		}
		rest = cmp.Or(rest, "0s")
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d%time.Second != 0 {
		return wrong
	}
	total := (weeks*7+days)*24*60*60 + int64(d/time.Second)
	if total > int64(math.MaxInt64/time.Second) {
		return wrong
	}
	*s = seconds(total)
	return nil
}
