package cli

import (
	"cmp"
	"strings"

	"github.com/allswell/allswell/client"
)

// names has the names of resources, by id.
type names map[string]string

// addNames adds the names of the resources in a list. With --json, or without ids, it requests nothing.
func addNames[T any](
	c *commandContext, all names, ids []string, list *client.List[T], named func(*T) (id, name string),
) error {
	if c.JSON || strings.Join(ids, "") == "" {
		return nil
	}
	for v, err := range list.All(c.Ctx) {
		if err != nil {
			return err
		}
		id, name := named(v)
		all[id] = name
	}
	return nil
}

// of returns the names of the resources with these ids. A resource without a known name is shown by its id.
func (n names) of(ids []string) []string {
	shown := make([]string, len(ids))
	for i, id := range ids {
		shown[i] = cmp.Or(n[id], id)
	}
	return shown
}

// recipientNames returns the names of channels and of on-call schedules.
func (c *commandContext) recipientNames(channels, schedules []string) (names, error) {
	all := make(names)
	if err := addNames(c, all, channels, c.api.ListChannels(), func(ch *client.Channel) (id, name string) {
		return ch.ID, ch.Name
	}); err != nil {
		return nil, err
	}
	err := addNames(c, all, schedules, c.api.ListOnCall(), func(o *client.OnCall) (id, name string) {
		return o.ID, "the person on call for " + o.Name
	})
	return all, err
}
