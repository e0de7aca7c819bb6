package cli

import (
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/monitor"
)

type pagePingKey struct {
	optionalPage
	Access *client.PingAccess `xor:"rotate" placeholder:"ACCESS" help:"ping_only, read_write (first pings may create monitors), or off, which invalidates the key at once."`
	Key    *string            `xor:"rotate" placeholder:"KEY" help:"Key of another service, to keep its URLs: 22 letters, digits, hyphens and underscores. By default a random one."`
	Rotate bool               `xor:"rotate" help:"Make a new key. The old one keeps working for 24 hours."`
}

// Run shows the ping key of a page. If flags are given, it changes the key first.
func (cmd *pagePingKey) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	var key *client.PingKey
	var err error
	switch change := (client.PingKeyChange{Access: cmd.Access, Key: cmd.Key}); {
	case cmd.Rotate:
		key, err = c.api.RotatePingKey(c.Ctx, cmd.Page)
	case checkNotEmpty(change) == nil:
		key, err = c.api.ChangePingKey(c.Ctx, cmd.Page, change)
	default:
		key, err = c.api.GetPingKey(c.Ctx, cmd.Page)
	}
	return object(c, key, err, func(k *client.PingKey) {
		previous := ""
		if k.PreviousUntil != nil {
			previous = "valid until " + console.Time(*k.PreviousUntil)
		}
		c.Properties([2]string{"Page", cmd.Page}, [2]string{"Access", string(k.Access)}, [2]string{"Key", k.Key},
			[2]string{"Made", timeOr(k.CreatedAt, "")},
			[2]string{"Previous key", previous})
		if k.PingURL != "" {
			c.Printf("\nJobs of this page can ping by slug:\n\n  %s\n",
				monitor.PingCommand(console.Visible(k.PingURL)+"SLUG"))
		}
	})
}
