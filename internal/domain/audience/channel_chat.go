package audience

import (
	"path"
	"slices"
	"strings"
)

// chatPaths are the prefixes of the paths of incoming-webhook URLs. A service has other paths at these hosts, which
// must not be called. Software that everybody can run has no entry: its webhooks can have any path.
var chatPaths = map[Channel][]string{
	ChannelSlack:   {"/services/"},
	ChannelDiscord: {"/api/webhooks/"},
	// Logic Apps, Power Automate, Office connectors
	ChannelTeams:      {"/workflows/", "/powerautomate/", "/webhookb2/"},
	ChannelGoogleChat: {"/v1/spaces/"},
}

// atServicePath reports whether the decoded path of a URL is the path of an incoming webhook of the channel's service.
func (c Channel) atServicePath(decoded string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(path.Clean(decoded), prefix) }
	return chatPaths[c] == nil || slices.ContainsFunc(chatPaths[c], begins)
}
