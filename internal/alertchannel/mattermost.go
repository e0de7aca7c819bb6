package alertchannel

import (
	"context"
	"regexp"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// mattermostType posts to an incoming webhook, as described at
// https://developers.mattermost.com/integrate/webhooks/incoming/.
var mattermostType = Type{
	Name: "mattermost", Label: "Mattermost", Help: "Mattermost, via incoming webhook.",
	Fields: []configfield.Field{urlField("https://chat.example.com/hooks/XXXX")},
	New:    func() Channel { return new(mattermost) },
}

// mattermostText is the maximum length of a message in characters. Servers allow up to 16,383, and some only 4,000.
const mattermostText = 4000

type mattermost struct {
	URL string `json:"url"`
}

// Destination returns the server.
func (c *mattermost) Destination() configfield.Destination { return serverDestination(c.URL) }

func (c *mattermost) Validate(bad *kernel.ValidationError) { checkURL(bad, "url", &c.URL) }

// markdownSigns are the signs of ASCII that can begin markup of CommonMark.
var markdownSigns = regexp.MustCompile("[\\\\`*_{}\\[\\]()<>#+!|~:-]")

// mattermostEscape writes text in which nothing is Markdown or a mention: a backslash does not stop a mention.
func mattermostEscape(text string) string {
	return noMentions.Replace(markdownSigns.ReplaceAllString(text, `\$0`))
}

func (c *mattermost) host() string { return hostOf(c.URL) }

func (c *mattermost) send(ctx context.Context, s *Sender, m alert.Message) Result {
	return c.post(ctx, s, postOf(m))
}

func (c *mattermost) post(ctx context.Context, s *Sender, p Post) Result {
	text := "**" + fit(p.Title, mattermostText/4, mattermostEscape) + "**"
	if p.Text != "" {
		text += "\n" + fit(p.Text, mattermostText/2, mattermostEscape)
	}
	if links := markdownLinks(p.Links); links != "" {
		text += "\n" + links
	}
	plain := map[string]any{"text": p.plain(mattermostText/4, mattermostEscape)}
	return s.deliver(ctx, request{url: c.URL, body: map[string]any{"text": text}, name: "Mattermost"}, plain)
}
