// Package cli has the commands that use the API of a running Allswell server, one file for each noun. They access the
// server only through package client.
package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/buildinfo"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/shared/settings"
)

// ClientSettings are the settings of the commands that use the API.
type ClientSettings struct {
	URL   string `name:"server" aliases:"url" env:"ALLSWELL_URL" default:"http://localhost:8080" placeholder:"URL" help:"URL of the Allswell server."`
	Token string `env:"ALLSWELL_TOKEN" secret:"" placeholder:"SECRET" help:"API token."`
	JSON  bool   `name:"json" help:"Print the JSON of the API, for programs. A list is one array."`
	Wide  bool   `help:"Print whole ids, and do not cut columns to fit the terminal."`
}

// monitorSettings are ClientSettings for commands that have their own flag --url, the URL that a monitor checks.
type monitorSettings struct {
	URL   string `name:"server" env:"ALLSWELL_URL" default:"http://localhost:8080" placeholder:"URL" help:"URL of the Allswell server."`
	Token string `env:"ALLSWELL_TOKEN" secret:"" placeholder:"SECRET" help:"API token."`
	JSON  bool   `name:"json" help:"Print the JSON of the API, for programs. A list is one array."`
	Wide  bool   `help:"Print whole ids, and do not cut columns to fit the terminal."`
}

// ProvideContext is called by the parser before a command runs. It sends nothing.
func (s monitorSettings) ProvideContext(c *console.Console) (*commandContext, error) {
	return ClientSettings(s).ProvideContext(c)
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
	api, err := client.New(base, token, client.Options{
		UserAgent: "allswell/" + buildinfo.Read().Version, Retries: retries,
	})
	return &commandContext{Printer: console.Printer{Console: c, JSON: s.JSON, Wide: s.Wide}, api: api}, err
}

func parseServerURL(value string) (string, error) {
	base, err := settings.BaseURL(value)
	if err != nil {
		err = errors.New("the http:// or https:// URL of an Allswell server without a path, such as " +
			"https://status.example.com")
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
	api  *client.Client
	zone *time.Location // of the page, if a time is given without an offset
}

// sent is a resource of the API.
type sent interface{ RawJSON() json.RawMessage }

// object prints a resource: the JSON of the API exactly as the server sent it, or the text that show prints. If err is
// not nil, it returns err.
func object[T sent](c *commandContext, v T, err error, show func(T)) error {
	if err != nil {
		return err
	}
	if c.JSON {
		return c.Document(v.RawJSON())
	}
	show(v)
	return nil
}

// table prints the first resources of a list of total resources: as a JSON array, each exactly as the server sent it,
// or as a table with a row for each.
func table[T sent](c *commandContext, list []T, total int, none string, header []string, row func(T) []string) error {
	more := fmt.Sprintf("… and %d more (--limit).\n", total-len(list))
	if c.JSON {
		raw := make([][]byte, len(list))
		for i, v := range list {
			raw[i] = v.RawJSON()
		}
		if total > len(list) {
			fmt.Fprint(c.Err, more)
		}
		return c.Document(slices.Concat([]byte("["), bytes.Join(raw, []byte(",")), []byte("]")))
	}
	if len(list) == 0 {
		c.Printf("%s\n", none)
		return nil
	}
	rows := [][]string{header}
	for _, v := range list {
		rows = append(rows, row(v))
	}
	if c.Width > 0 && !c.Wide {
		shortenIDs(rows[1:])
	}
	c.Table(rows)
	if total > len(list) {
		c.Printf("%s", more)
	}
	return nil
}

// shortenIDs shortens the ids in the first column to prefixes that are unique among them, if commands accept such
// prefixes.
func shortenIDs(rows [][]string) {
	ids := make([]string, len(rows))
	least := 0
	for i, row := range rows {
		ids[i] = row[0]
		n := shortIDLength(row[0])
		if n == 0 {
			return
		}
		least = max(least, n)
	}
	for i, short := range console.ShortestPrefixes(ids, least) {
		rows[i][0] = short
	}
}

// shortIDLength returns the minimum length of the short form of an id; 0: it has none.
func shortIDLength(id string) int {
	if uuid.MatchString(id) {
		return shownUUID
	}
	for _, prefix := range []string{
		kernel.PrefixComponent, kernel.PrefixGroup, kernel.PrefixMonitor, kernel.PrefixMaintenance,
		kernel.PrefixAnnouncement, kernel.PrefixDelivery,
	} {
		if kernel.ValidID(prefix, id) {
			return len(prefix) + shownIDPart
		}
	}
	return 0
}

// deleted prints that a resource was deleted. If err is not nil, it returns err.
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

// message returns the text of an update. If it is "-", the text is read from standard input.
func (c *commandContext) message(given *string) (*string, error) {
	if given == nil || *given != "-" {
		return given, nil
	}
	const most = kernel.MaxMessageLength * utf8.UTFMax
	raw, err := io.ReadAll(io.LimitReader(c.In, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the message from standard input: %w", err)
	case len(raw) > most:
		return nil,
			console.UsageErrorf("the message on standard input must have at most %d characters",
				kernel.MaxMessageLength)
	case !utf8.Valid(raw):
		return nil, console.UsageErrorf("the message on standard input must be UTF-8")
	}
	text := string(raw)
	return &text, nil
}

// updateText is the text of an update, given as an argument or, as in other commands, by the flag --message.
type updateText struct {
	Text    *string `arg:"" optional:"" name:"message" help:"Text of the update; - reads it from standard input."`
	Message *string `placeholder:"TEXT" help:"The same as a flag."`
}

// read returns the text.
func (t *updateText) read(c *commandContext) (string, error) {
	if (t.Text == nil) == (t.Message == nil) {
		return "", console.UsageErrorf("give the text of the update once, as the last argument or with --message")
	}
	text, err := c.message(cmp.Or(t.Text, t.Message))
	if err != nil {
		return "", err
	}
	return *text, nil
}

// printAddress prints the URL of something on a page, and who can see it if the page is not public. If the page cannot
// be read, it prints the URL on the server.
func (c *commandContext) printAddress(slug, path string) {
	base, who := c.api.BaseURL()+"/status/"+slug, ""
	if page, err := c.api.GetPage(c.Ctx, slug); err == nil && page.URL != "" {
		base, who = page.URL, visibleTo(page.Visibility)
	}
	c.Printf("It is shown at %s%s%s\n", console.Visible(base), console.Visible(path), who)
}

// visibleTo returns who can see a page, unless everybody can.
func visibleTo(v client.Visibility) string {
	switch v {
	case client.VisibilityPrivate:
		return " to clients with an API token, and to whom allswell page access lets in: the page is private"
	case client.VisibilityUnlisted:
		return " to everyone who has the address: the page is unlisted"
	}
	return ""
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

// textOrNone returns the text that a pointer points to, or "none".
func textOrNone(text *string) string {
	if optional.Value(text) == "" {
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

// nullable returns the change of a field that one flag sets and another one clears.
func nullable[V any](value *V, clear bool) (n client.Nullable[V]) {
	switch {
	case clear:
		n = client.Null[V]()
	case value != nil:
		n = client.Set(*value)
	}
	return n
}

// statusLabel returns the label of a status.
func statusLabel(status client.Status) string {
	if s := kernel.Status(status); s.Valid() {
		return s.Label()
	}
	return string(status)
}

// confirmation is embedded by the commands that delete objects with a history.
type confirmation struct {
	Yes bool `short:"y" help:"Delete without confirmation. Required if there is no terminal."`
}

// unasked is embedded by the other commands that delete, so that scripts can give --yes to all of them.
type unasked struct {
	Yes bool `short:"y" help:"Has no effect: this command never asks."`
}

// confirm returns nil if the deletion is confirmed, by the flag or on the terminal. describe returns what is deleted.
func (f confirmation) confirm(c *commandContext, describe func() (string, error)) error {
	if f.Yes {
		return nil
	}
	what, err := describe()
	if err != nil {
		return err
	}
	return c.confirm(question{verb: "delete", done: "deleted", what: what, warning: "this cannot be undone"})
}

// question is a question that the user answers before a command does something.
type question struct {
	verb, done string // "delete", "deleted"
	what       string
	warning    string // "this cannot be undone"
	flag       string // that answers it; "": --yes
}

// confirm asks on the terminal, and returns an error unless the answer is yes. Without a terminal it returns an error
// that names the flag.
func (c *commandContext) confirm(q question) error {
	what := console.Visible(q.what)
	if !c.Interactive {
		return console.UsageErrorf("not %s: %s is needed to %s %s; %s", q.done, cmp.Or(q.flag, "--yes"), q.verb, what,
			q.warning)
	}
	yes, err := c.Confirm(fmt.Sprintf("%s %s? %s.", capitalize(q.verb), what, capitalize(q.warning)))
	if err == nil && !yes {
		err = errors.New("not " + q.done)
	}
	return err
}

func capitalize(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// some returns a number of things, such as "1 draft" and "2 drafts".
func some(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %s", n, plural(noun))
}

// uniqueName is embedded by the commands that create named objects on a page.
type uniqueName struct {
	AllowDuplicate bool `help:"Create it even if the page has one with this name."`
}

// explain adds to an error about a name that is in use that --allow-duplicate permits a second object with this name.
func (f uniqueName) explain(err error) error {
	if refused := (*client.Error)(nil); errors.As(err, &refused) && !f.AllowDuplicate {
		for i, p := range refused.Problems {
			if p.Field == "name" && strings.HasPrefix(p.Code, "The page has a ") {
				refused.Problems[i].Code += " --allow-duplicate creates another one."
			}
		}
	}
	return err
}
