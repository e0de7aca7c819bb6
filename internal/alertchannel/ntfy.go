package alertchannel

import (
	"context"
	"net/url"
	"regexp"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// ntfyType publishes to a topic, as described at https://docs.ntfy.sh/publish/#publish-as-json.
var ntfyType = Type{
	Name: "ntfy", Label: "ntfy", Help: "ntfy.sh or your own ntfy server.",
	Fields: []configfield.Field{
		{
			Name: "server_url", Label: "Server", Help: "The URL of the server, without a path.",
			Kind: configfield.KindText, Default: "https://ntfy.sh", Max: 500,
		},
		{
			Name: "topic", Label: "Topic", Help: "The name of the topic: anyone who knows it can read the alerts.",
			Kind: configfield.KindText, Secret: true, Required: true, Max: 64, Example: "acme-ops-x7Hq2",
		},
		{
			Name: "access_token", Label: "Access token", Help: "For a protected topic.", Kind: configfield.KindText,
			Secret: true, Max: 200,
		},
	},
	New: func() Channel { return &ntfy{Server: "https://ntfy.sh"} },
}

// ntfyText is the maximum length of a message in characters; the server's limit is 4,096 bytes.
const ntfyText = 1300

var ntfyTopic = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)

type ntfy struct {
	Server string `json:"server_url"`
	Topic  string `json:"topic"`
	Token  string `json:"access_token,omitzero"`
}

// Destination returns the server.
func (c *ntfy) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *ntfy) Validate(bad *kernel.ValidationError) {
	checkServer(bad, &c.Server)
	if u, err := url.Parse(c.Server); err == nil && u.Path != "" {
		bad.Add("server_url", "must not have a path: ntfy has none, and the topic is another field")
	}
	c.Topic = strings.TrimSpace(c.Topic)
	if !ntfyTopic.MatchString(c.Topic) {
		bad.Add("topic", "must have 1 to 64 letters, digits, hyphens and underscores")
	}
}

// ntfyPriorities are the priorities of severities; 3 is the default.
var ntfyPriorities = map[kernel.Impact]int{
	kernel.ImpactCritical: 5, kernel.ImpactMajor: 4, kernel.ImpactMinor: 3, kernel.ImpactNone: 3,
}

func (c *ntfy) host() string { return hostOf(c.Server) }

func (c *ntfy) send(ctx context.Context, s *Sender, m alert.Message) Result {
	body := map[string]any{
		"topic": c.Topic, "message": fit(m.Headline(), ntfyText, nil), "priority": ntfyPriorities[m.Severity()],
	}
	if text := details(m); text != "" {
		body["title"], body["message"] = fit(m.Headline(), 200, nil), fit(text, ntfyText, nil)
	}
	if m.Phase() == alert.PhaseResolve {
		body["tags"], body["priority"] = []string{"white_check_mark"}, 3
	}
	var actions []map[string]any
	for _, l := range m.Buttons() {
		actions = append(actions, map[string]any{"action": "view", "label": l.Label, "url": l.URL})
	}
	if len(actions) > 0 {
		body["actions"] = actions
	}
	r := request{url: c.Server, body: body, name: "ntfy"}
	if c.Token != "" {
		r.header = map[string]string{"Authorization": "Bearer " + c.Token}
	}
	return s.deliver(ctx, r, map[string]any{"topic": c.Topic, "message": plainText(m, ntfyText, nil)})
}
