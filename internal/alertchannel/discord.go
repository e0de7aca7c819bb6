package alertchannel

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// discordType executes a webhook, as described at
// https://discord.com/developers/docs/resources/webhook#execute-webhook, within the limits at
// https://discord.com/developers/docs/resources/message#embed-object-embed-limits.
var discordType = Type{
	Name: "discord", Label: "Discord", Help: "Discord, via webhook.",
	Fields: []configfield.Field{urlField("https://discord.com/api/webhooks/123/XXXX")},
	New:    func() Channel { return new(discord) },
}

// Limits of an embed and of a message, in characters.
const (
	discordTitle       = 256
	discordDescription = 4096
	discordContent     = 2000
)

type discord struct {
	URL string `json:"url"`
}

// Destination returns the server.
func (c *discord) Destination() configfield.Destination { return serverDestination(c.URL) }

func (c *discord) Validate(bad *kernel.ValidationError) { checkURL(bad, "url", &c.URL) }

// discordMarkup are the signs that can begin markup; a backslash before a sign makes it text.
var discordMarkup = regexp.MustCompile("[\\\\*_~`|>#\\[\\]()<:@-]")

// discordEscape writes text in which nothing is markup or a mention.
func discordEscape(text string) string { return discordMarkup.ReplaceAllString(text, `\$0`) }

type discordEmbed struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	URL         string `json:"url,omitempty"`
	Color       int    `json:"color"`
	Timestamp   string `json:"timestamp"`
}

// discordNobody is an allowed_mentions object that allows no mentions.
var discordNobody = map[string]any{"parse": []string{}}

func discordMessage(p Post) map[string]any {
	footer := markdownLinks(p.Links)
	e := discordEmbed{
		Title: fit(p.Title, discordTitle, discordEscape), URL: p.URL, Color: p.Color.RGB,
		Timestamp:   kernel.FormatTime(p.At),
		Description: strings.TrimSpace(fit(p.Text, discordDescription-len(footer)-1, discordEscape) + "\n" + footer),
	}
	return map[string]any{"embeds": []discordEmbed{e}, "allowed_mentions": discordNobody}
}

// address returns the URL of the webhook with a path and a parameter added. It keeps the parameters that it has, such
// as thread_id.
func (c *discord) address(path, key, value string) string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return c.URL
	}
	u = u.JoinPath(path)
	q := u.Query()
	if key != "" {
		q.Set(key, value)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func (c *discord) host() string { return hostOf(c.URL) }

func (c *discord) send(ctx context.Context, s *Sender, m alert.Message) Result {
	p := postOf(m)
	r := c.post(ctx, s, p)
	if first := reference(m); r.Result == audience.SendAccepted && first != "" && m.Outdates() {
		edit := request{
			method: http.MethodPatch, url: c.address("messages/"+url.PathEscape(first), "", ""),
			body: discordMessage(postOf(m.Current())), name: "Discord",
		}
		change(ctx, func() Result { return s.try(ctx, edit) })
	}
	return r
}

func (c *discord) post(ctx context.Context, s *Sender, p Post) Result {
	plain := map[string]any{"content": p.plain(discordContent, discordEscape), "allowed_mentions": discordNobody}
	a, bad := s.callTwice(ctx, request{url: c.address("", "wait", "true"), body: discordMessage(p), name: "Discord"},
		plain)
	if bad != nil {
		return *bad
	}
	var said struct {
		ID         string  `json:"id"`
		RetryAfter float64 `json:"retry_after"`
	}
	decoded := a.decode(&said)
	r := a.outcome("Discord")
	if r.Result != audience.SendAccepted {
		return r.wait(said.RetryAfter)
	}
	if !decoded || said.ID == "" {
		return a.unclear("Discord")
	}
	return sent(said.ID)
}
