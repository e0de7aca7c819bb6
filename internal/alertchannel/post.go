package alertchannel

import (
	"context"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/redact"
)

// Post is a message for a chat room: about alerts, or a notification for a subscriber of a page.
type Post struct {
	ID    string // the same for all attempts
	Title string // one line
	Text  string // lines; "": there is nothing to add
	URL   string // what the title links to; "": nothing
	Links []alert.Button
	Color PostColor
	At    time.Time

	threadID string // messages of one thread have the same; "": none
}

// PostColor is the color of a message, in the two ways in which services name one.
type PostColor struct {
	RGB   int    // 0xRRGGBB
	Named string // of Adaptive Cards
}

// The colors.
var (
	ColorNeutral  = PostColor{0x6b7280, "default"}
	ColorOver     = PostColor{0x15803d, "good"}
	ColorCalm     = PostColor{0x1d4ed8, "accent"}
	ColorMinor    = PostColor{0xa16207, "warning"}
	ColorMajor    = PostColor{0xc2410c, "attention"}
	ColorCritical = PostColor{0xb91c1c, "attention"}
)

// postOf returns the message about alerts as a post.
func postOf(m alert.Message) Post {
	p := Post{
		ID: m.ID, Title: m.Headline(), Text: details(m), URL: m.Details(), Links: m.Buttons(), Color: colorOf(m),
		At: m.At,
	}
	if m.Thread != nil {
		p.threadID = m.Thread.ID
	}
	return p
}

// colorOf returns the color of a message about alerts: green if it is over.
func colorOf(m alert.Message) PostColor {
	if isTest(m) {
		return ColorNeutral
	}
	switch m.Phase() {
	case alert.PhaseResolve:
		return ColorOver
	case alert.PhaseAcknowledge:
		return ColorCalm
	}
	switch m.Severity() {
	case kernel.ImpactCritical:
		return ColorCritical
	case kernel.ImpactMajor:
		return ColorMajor
	case kernel.ImpactMinor:
		return ColorMinor
	}
	return ColorNeutral
}

// plain returns the post as plain text with its links, of at most limit UTF-16 code units after escape. Links are never
// cut and not escaped.
func (p Post) plain(limit int, escape func(string) string) string {
	links := ""
	for _, l := range p.Links {
		links += "\n" + l.Label + ": " + l.URL
	}
	return fit(strings.TrimSuffix(p.Title+"\n"+p.Text, "\n"), max(20, limit-len(links)), escape) + links
}

// markdownLinks returns links as Markdown.
func markdownLinks(links []alert.Button) string {
	all := make([]string, len(links))
	for i, l := range links {
		all[i] = "[" + l.Label + "](" + l.URL + ")"
	}
	return strings.Join(all, " · ")
}

// room is a room of a chat with an incoming webhook.
type room interface {
	post(ctx context.Context, s *Sender, p Post) Result
}

// Post makes one attempt to send a post by the URL of an incoming webhook. service is the name of a type: slack,
// discord, teams, google_chat or mattermost. It takes at most 20 seconds.
func (s *Sender) Post(ctx context.Context, service, url string, p Post) audience.SendOutcome {
	var to room
	switch service {
	case slackType.Name:
		to = &slack{url}
	case discordType.Name:
		to = &discord{url}
	case teamsType.Name:
		to = &teams{url}
	case googleChatType.Name:
		to = &googleChat{url}
	case mattermostType.Name:
		to = &mattermost{url}
	default:
		return failed(audience.SendUndeliverable, "This version knows no chat with the name %s.", service).SendOutcome
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	secrets := append(redact.Parts(url), url)
	for _, l := range p.Links {
		secrets = append(append(secrets, l.URL), redact.Parts(l.URL)...)
	}
	return to.post(ctx, s, p).clean(redact.New(secrets...)).SendOutcome
}
