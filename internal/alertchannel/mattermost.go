package alertchannel

import (
	"context"
	"regexp"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/configfield"
)

// mattermostType posts to an incoming webhook, as described at https://developers.mattermost.com/integrate/webhooks/incoming/.
var mattermostType = Type{
	Name: "mattermost", Label: "Mattermost", Help: "Posts to a channel of Mattermost by an incoming webhook.",
	Fields: []configfield.Field{urlField("https://chat.example.com/hooks/XXXX")},
	New:    func() Channel { return new(mattermost) },
}

// mattermostText is the maximum length of a message in characters. Servers allow up to 16,383, and some only 4,000.
const mattermostText = 4000

type mattermost struct {
	URL string `json:"url"`
}

func (c *mattermost) Validate(bad *allswell.ValidationError) { checkURL(bad, "url", &c.URL) }

// markdownSigns are the signs of ASCII that can begin markup of CommonMark.
var markdownSigns = regexp.MustCompile("[\\\\`*_{}\\[\\]()<>#+!|~:-]")

// mattermostEscape writes text in which nothing is Markdown or a mention: a backslash does not stop a mention.
func mattermostEscape(text string) string {
	return noMentions.Replace(markdownSigns.ReplaceAllString(text, `\$0`))
}

// markdownLinks returns the buttons as links of Markdown.
func markdownLinks(m alert.Message) string {
	var links []string
	for _, b := range m.Buttons() {
		links = append(links, "["+b.Label+"]("+b.URL+")")
	}
	return strings.Join(links, " · ")
}

func (c *mattermost) send(ctx context.Context, s *Sender, m alert.Message) Result {
	text := "**" + fit(m.Headline(), mattermostText/4, mattermostEscape) + "**"
	if more := details(m); more != "" {
		text += "\n" + fit(more, mattermostText/2, mattermostEscape)
	}
	if links := markdownLinks(m); links != "" {
		text += "\n" + links
	}
	plain := map[string]any{"text": plainText(m, mattermostText/4, mattermostEscape)}
	return s.deliver(ctx, request{url: c.URL, body: map[string]any{"text": text}, name: "Mattermost"}, plain)
}
