// Package cli has the commands that use the API of a running Allswell server, one file for each noun. They see the
// server only through package client.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/buildinfo"
	"github.com/allswell/allswell/internal/console"
	"github.com/allswell/allswell/internal/settings"
)

// ClientSettings are the settings of the commands that use the API.
type ClientSettings struct {
	URL   string `name:"url" env:"ALLSWELL_URL" default:"http://localhost:8080" placeholder:"URL" help:"URL of the Allswell server."`
	Token string `env:"ALLSWELL_TOKEN" secret:"" placeholder:"SECRET" help:"API token."`
	JSON  bool   `name:"json" help:"Print JSON, for programs: the data of the API's response."`
}

// retries is client.Options.Retries. Tests change it.
var retries = client.DefaultRetries

// ProvideContext is called by the parser before a command runs. It sends nothing.
func (s ClientSettings) ProvideContext(c *console.Console) (*commandContext, error) {
	p := settings.NewParser(&s)
	base := settings.Parse(p, &s.URL, parseServerURL)
	token := settings.Parse(p, &s.Token, parseToken)
	if err := p.Err(); err != nil {
		return nil, err
	}
	api, err := client.New(base, token, client.Options{UserAgent: "allswell/" + buildinfo.Read().Version, Retries: retries})
	return &commandContext{console.Printer{Console: c, JSON: s.JSON}, api}, err
}

func parseServerURL(value string) (string, error) {
	base, err := settings.BaseURL(value)
	if err != nil {
		err = errors.New("the http:// or https:// URL of an Allswell server without a path, such as https://status.example.com")
	}
	return base, err
}

func parseToken(value string) (string, error) {
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("an API token; `allswell token create --name me` creates one")
	}
	return value, nil
}

// commandContext is what a command works with: the API, and the console of the user.
type commandContext struct {
	console.Printer
	api *client.Client
}

// resource is a resource of the API.
type resource interface{ RawJSON() json.RawMessage }

// object prints a resource: the JSON of the API, or what show prints. It returns err if there is one.
func object[T resource](c *commandContext, v T, err error, show func(T)) error {
	if err != nil {
		return err
	}
	if c.JSON {
		return c.Raw(v.RawJSON())
	}
	show(v)
	return nil
}

// table prints the first resources of a list of total resources: a JSON array, or a table with a row for each.
func table[T resource](c *commandContext, list []T, total int, none string, header []string, row func(T) []string) error {
	if c.JSON {
		raw := make([]json.RawMessage, len(list))
		for i, v := range list {
			raw[i] = v.RawJSON()
		}
		return c.Raw(raw)
	}
	if len(list) == 0 {
		c.Printf("%s\n", none)
		return nil
	}
	rows := [][]string{header}
	for _, v := range list {
		rows = append(rows, row(v))
	}
	c.Columns(rows)
	if total > len(list) {
		c.Printf("… and %d more (--limit).\n", total-len(list))
	}
	return nil
}

// deleted prints that a resource was deleted, unless err says that it was not.
func (c *commandContext) deleted(err error, noun, name string) error {
	if err == nil {
		c.Done("Deleted the %s %s.", noun, console.Visible(name))
	}
	return err
}

// checkNotEmpty returns a usage error if a change changes nothing.
func checkNotEmpty(change any) error {
	if reflect.ValueOf(change).IsZero() {
		return console.UsageErrorf("nothing to set: give at least one flag (--help lists them)")
	}
	return nil
}

// maxSameName is how many resources with the same name are read, to list their ids.
const maxSameName = 100

// find returns the id of a resource that is given by its id, which begins with prefix, by its name, which must be
// unique in the list, or by its slug.
func find[T any](ctx context.Context, list *client.List[T], noun, prefix, given string, named func(*T) (id, name string)) (string, error) {
	if strings.HasPrefix(given, prefix) {
		return given, nil
	}
	all, total, err := list.Filter(client.Filter{Name: given}).First(ctx, maxSameName)
	if err == nil && total == 0 && allswell.ValidSlug(given) {
		all, total, err = list.Filter(client.Filter{Slug: given}).First(ctx, 1)
		if err == nil && total == 1 {
			id, _ := named(all[0])
			return console.Visible(id), nil
		}
	}
	if err != nil {
		return "", err
	}
	var ids []string
	for _, v := range all {
		if id, name := named(v); name == given {
			ids = append(ids, console.Visible(id))
		}
	}
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("there is no %s with the name or slug %q (an id would begin with %s)", noun, given, prefix)
	case 1:
		return ids[0], nil
	}
	return "", fmt.Errorf("several %ss are named %q: give the id of one (%s)", noun, given, firstOf(ids))
}

// firstOf lists the first ids, and says how many more there are.
func firstOf(ids []string) string {
	const most = 5
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

// group returns the id of a group that is given by its id or name; nil if none is given.
func (c *commandContext) group(given *string, page string) (*string, error) {
	if given == nil || strings.HasPrefix(*given, allswell.PrefixGroup) {
		return given, nil
	}
	if page == "" {
		return nil, pageNeeded("group", *given)
	}
	id, err := find(c.Ctx, c.api.ListGroups(page), "group", allswell.PrefixGroup, *given,
		func(g *client.Group) (id, name string) { return g.ID, g.Name })
	return &id, err
}

// component returns the id of a component that is given by its id or name.
func (c *commandContext) component(given, page string) (string, error) {
	return find(c.Ctx, c.api.ListComponents(page), "component", allswell.PrefixComponent, given,
		func(v *client.Component) (id, name string) { return v.ID, v.Name })
}

// components returns the ids of components that are given by their ids or names. Names need the page.
func (c *commandContext) components(given []string, page string) ([]string, error) {
	ids := make([]string, len(given))
	for i, name := range given {
		if page == "" && !strings.HasPrefix(name, allswell.PrefixComponent) {
			return nil, pageNeeded("component", name)
		}
		var err error
		if ids[i], err = c.component(name, page); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// monitor returns the id of a monitor that is given by its id or name.
func (c *commandContext) monitor(given string) (string, error) {
	return find(c.Ctx, c.api.ListMonitors(client.MonitorFilter{}), "monitor", allswell.PrefixMonitor, given,
		func(m *client.Monitor) (id, name string) { return m.ID, m.Name })
}

// pageNeeded is the error for a name without the page to look it up on.
func pageNeeded(noun, name string) error {
	return console.UsageErrorf("to find the %s %q by its name or slug, give its page: --page=SLUG", noun, name)
}

// message returns the text of an update. If it is "-", the text is read from standard input.
func (c *commandContext) message(given *string) (*string, error) {
	if given == nil || *given != "-" {
		return given, nil
	}
	const most = allswell.MaxMessageLength * utf8.UTFMax
	raw, err := io.ReadAll(io.LimitReader(c.In, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the message from standard input: %w", err)
	case len(raw) > most:
		return nil, console.UsageErrorf("the message on standard input must have at most %d characters", allswell.MaxMessageLength)
	case !utf8.Valid(raw):
		return nil, console.UsageErrorf("the message on standard input must be UTF-8")
	}
	text := string(raw)
	return &text, nil
}

// pageURL returns the URL of a page for visitors, or the one on the server's own address if the page cannot be read.
func (c *commandContext) pageURL(slug string) string {
	page, err := c.api.GetPage(c.Ctx, slug)
	if err != nil || page.URL == "" {
		return c.api.BaseURL() + "/status/" + slug
	}
	return page.URL
}

// listing is embedded by the commands that list resources.
type listing struct {
	Limit count `default:"1000" placeholder:"COUNT" help:"Maximum number of results."`
}

// count is a number of results on the command line.
type count int

// UnmarshalText parses a number from 1 to 100000.
func (n *count) UnmarshalText(text []byte) error {
	v, err := strconv.Atoi(string(text))
	if err != nil || v < 1 || v > 100_000 {
		return errors.New("must be a whole number from 1 to 100000")
	}
	*n = count(v)
	return nil
}

// valueOf returns what a pointer points to, or the zero value.
func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// textOrNone returns the text that a pointer points to, or "none".
func textOrNone(text *string) string {
	if valueOf(text) == "" {
		return "none"
	}
	return *text
}

// timeOr formats a time, or returns what to print if there is none.
func timeOr(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return console.Time(*t)
}

// nullable returns the change of a field that a flag sets and another one clears.
func nullable(value *string, clear bool) client.Nullable[string] {
	switch {
	case clear:
		return client.Null[string]()
	case value != nil:
		return client.Set(*value)
	}
	return client.Nullable[string]{}
}

// statusLabel returns the label of a status.
func statusLabel(status allswell.Status) string {
	if status.Valid() {
		return status.Label()
	}
	return string(status)
}
