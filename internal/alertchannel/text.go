package alertchannel

import (
	"context"
	"net/url"
	"sort"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// zeroWidth is a character without width. After a sign that begins a mention or a link, it stops services without
// escapes from making one.
const zeroWidth = "\u200b"

// noMentions is for services where @name mentions somebody and cannot be escaped.
var noMentions = strings.NewReplacer("@", "@"+zeroWidth)

// htmlEscape writes text in which nothing is HTML.
var htmlEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// fit returns a text of at most limit UTF-16 code units after escape, which may be nil. Services count characters in
// different ways; none counts more than these, except services whose limits are in bytes.
func fit(text string, limit int, escape func(string) string) string {
	if escape == nil {
		escape = func(s string) string { return s }
	}
	fits := func(characters int) bool {
		return len(utf16.Encode([]rune(escape(alert.Shorten(text, characters))))) <= limit
	}
	length := len([]rune(text))
	if !fits(length) {
		length = max(1, sort.Search(length, func(n int) bool { return !fits(n + 1) }))
	}
	return escape(alert.Shorten(text, length))
}

// plainText returns the message as plain text with its links, of at most limit UTF-16 code units after escape. Links
// are never cut, and are not escaped: they are made of this service's own address.
func plainText(m alert.Message, limit int, escape func(string) string) string {
	links := ""
	for _, b := range m.Buttons() {
		links += "\n" + b.Label + ": " + b.URL
	}
	return fit(m.WithoutLinks().Text(limit), max(20, limit-len(links)), escape) + links
}

// details returns what follows the headline: a list of alerts, or why the only one began. It is "" if there is nothing
// to add.
func details(m alert.Message) string {
	lines, more := m.Lines()
	if len(m.Items) == 1 || m.Words.Text != "" {
		return strings.Join(lines, "\n")
	}
	for i := range lines {
		lines[i] = "• " + lines[i]
	}
	if more > 0 {
		lines = append(lines, alert.MoreLine(more))
	}
	return strings.Join(lines, "\n")
}

// threadKey returns what identifies the thread of a message for services that keep an object for it. A message without
// a thread is one of its own.
func threadKey(m alert.Message) string {
	if m.Thread == nil {
		return m.ID
	}
	return m.Thread.ID
}

// isTest reports whether the message tests the channel.
func isTest(m alert.Message) bool { return m.Items[0].Event == alert.ChannelTest }

// phases returns the phases to report, in order, to a service that keeps an object for each thread. An object that the
// service does not know is opened first, and the object of a test is closed again.
func phases(m alert.Message) []alert.Phase {
	phase := m.Phase()
	switch {
	case isTest(m):
		return []alert.Phase{alert.PhaseTrigger, alert.PhaseResolve}
	case m.Thread != nil && m.Thread.First && phase != alert.PhaseTrigger:
		return []alert.Phase{alert.PhaseTrigger, phase}
	}
	return []alert.Phase{phase}
}

// reference returns what the service calls the first message of the message's thread; "": nothing.
func reference(m alert.Message) string {
	if m.Thread == nil || m.Thread.First {
		return ""
	}
	return m.Thread.Reference
}

// callTwice sends a request. If the service refuses it as malformed, plain is sent once in place of its body: alerts
// matter more than their looks.
func (s *Sender) callTwice(ctx context.Context, r request, plain any) (answer, *Result) {
	a, bad := s.call(ctx, r)
	if bad == nil && a.malformed() {
		r.body = plain
		a, bad = s.call(ctx, r)
	}
	return a, bad
}

// deliver is callTwice for services whose HTTP status alone decides the outcome.
func (s *Sender) deliver(ctx context.Context, r request, plain any) Result {
	a, bad := s.callTwice(ctx, r, plain)
	if bad != nil {
		return *bad
	}
	return a.outcome(r.name)
}

// try sends a request to a service whose HTTP status alone decides the outcome.
func (s *Sender) try(ctx context.Context, r request) Result {
	a, bad := s.call(ctx, r)
	if bad != nil {
		return *bad
	}
	return a.outcome(r.name)
}

// unclear returns the result of an answer with a status of success that does not say that the message was accepted.
func (a answer) unclear(service string) Result {
	return failed(audience.SendFailed, "%s answered %d, but did not accept the message%s", service, a.status,
		a.explanation())
}

// wait returns the result with the delay that the answer's JSON asks for, if that is longer.
func (r Result) wait(seconds float64) Result {
	if r.Result == audience.SendFailed && seconds > 0 {
		r.RetryAfter = max(r.RetryAfter, time.Duration(min(seconds, maxRetryAfter.Seconds())*float64(time.Second)))
	}
	return r
}

// serverField is the field of a service's address. Only people who run a server of their own or use another region need
// to change it.
func serverField(address, help string) configfield.Field {
	return configfield.Field{
		Name: "server_url", Label: "Server", Help: help, Kind: configfield.KindText, Default: address, Max: 500,
		Advanced: true,
	}
}

// serverDestination returns a server with its path, because another path can lead to another server behind the same
// name.
func serverDestination(address string) configfield.Destination {
	u, err := url.Parse(address)
	if err != nil {
		return configfield.Destination{address}
	}
	return configfield.Destination{configfield.Server(address), strings.TrimRight(u.Path, "/")}
}

// checkServer checks the address of a server, which may have a path, and removes slashes at its end. The address is
// shown, so it must not contain secrets.
func checkServer(bad *kernel.ValidationError, server *string) {
	checkURL(bad, "server_url", server)
	*server = strings.TrimRight(*server, "/")
	if strings.ContainsAny(*server, "?#") {
		bad.Add("server_url", "must not have a query or a fragment")
	}
}

// urlField is the field of an incoming webhook's URL, which is a secret.
func urlField(example string) configfield.Field {
	return configfield.Field{
		Name: "url", Label: "Webhook URL", Help: "The URL of an incoming webhook.", Kind: configfield.KindText,
		Secret: true, Required: true, Max: 2000, Example: example,
	}
}

// secretField is a required field with a secret.
func secretField(name, label, help string) configfield.Field {
	return configfield.Field{
		Name: name, Label: label, Help: help, Kind: configfield.KindText, Secret: true, Required: true, Max: 500,
	}
}

// checkPathPart checks a text that becomes part of a URL's path.
func checkPathPart(bad *kernel.ValidationError, field, text string) {
	if strings.ContainsAny(text, "/?#% \\") {
		bad.Add(field, "may not have spaces, slashes and signs of URLs")
	}
}
