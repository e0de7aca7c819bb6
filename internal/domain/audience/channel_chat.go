package audience

import (
	"path"
	"slices"
	"strings"
)

// chatPaths are the beginnings of the paths of incoming-webhook URLs. At the hosts of a service there is more, which
// must not be called. Without an entry, everybody can run the service, below any path.
var chatPaths = map[Channel][]string{
	ChannelSlack:   {"/services/"},
	ChannelDiscord: {"/api/webhooks/"},
	// Logic Apps, Power Automate, Office connectors
	ChannelTeams:      {"/workflows/", "/powerautomate/", "/webhookb2/"},
	ChannelGoogleChat: {"/v1/spaces/"},
}

// atServicePath reports whether the decoded path of a URL is one of incoming webhooks of the channel's service.
func (c Channel) atServicePath(decoded string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(path.Clean(decoded), prefix) }
	return chatPaths[c] == nil || slices.ContainsFunc(chatPaths[c], begins)
}
