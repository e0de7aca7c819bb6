package cli

import (
	"cmp"
	"strings"

	"github.com/allswell/allswell/client"
)

// names has the names of resources, by id.
type names map[string]string

// addNames adds the names of the resources in a list, for people: with --json, or if no ids are to be shown, it requests nothing.
func addNames[T any](c *commandContext, all names, ids []string, list *client.List[T], named func(*T) (id, name string)) error {
	if c.JSON || len(ids) == 0 {
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

// join returns the names of the resources with these ids. One that is not in the list has its id.
func (n names) join(ids []string) string {
	shown := make([]string, len(ids))
	for i, id := range ids {
		shown[i] = cmp.Or(n[id], id)
	}
	return strings.Join(shown, ", ")
}
