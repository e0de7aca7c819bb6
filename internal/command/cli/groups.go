package cli

import (
	"strconv"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/optional"
)

// GroupCommands are the commands of groups of components.
type GroupCommands struct {
	ClientSettings `embed:""`

	List   groupList   `cmd:"" help:"List a page's groups."`
	Show   groupShow   `cmd:"" help:"Show a group."`
	Create groupCreate `cmd:"" help:"Create a group on a page."`
	Put    groupPut    `cmd:"" help:"Create a group, or replace its configuration. Missing flags get their defaults; its order is kept."`
	Edit   groupEdit   `cmd:"" aliases:"set" help:"Change a group."`
	Delete groupDelete `cmd:"" help:"Delete a group. Its components remain, in no group."`
}

// NewGroupCommands returns the commands, with a flag for each field.
func NewGroupCommands() (c GroupCommands) {
	fields := resource.Group.Infos()
	c.Create.resourceFlags, c.Edit.resourceFlags = newResourceFlags(fields, field.Creation),
		newResourceFlags(fields, field.Changing)
	c.Put.resourceFlags = newPutFlags(fields)
	return c
}

type groupCreate struct {
	pageFlag
	resourceFlags
	uniqueName
}

func (cmd *groupCreate) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	n, err := asInput[client.NewGroup](cmd.given(c, &cmd.pageFlag))
	if err != nil {
		return err
	}
	n.UniqueName = !cmd.AllowDuplicate
	group, err := c.api.CreateGroup(c.Ctx, cmd.Page, n)
	return object(c, group, cmd.explain(err), func(g *client.Group) {
		c.Printf("The group %s is %s\n", console.Visible(g.Name), console.Visible(g.ID))
	})
}

type groupPut struct {
	Group string `arg:"" help:"Slug of the group, or the id of one that exists."`
	pageFlag
	resourceFlags
	putFlags
}

func (cmd *groupPut) Run(c *commandContext) error {
	if err := checkRef(cmd.Group, "group", kernel.PrefixGroup); err != nil {
		return err
	}
	if err := cmd.choose(c); err != nil {
		return err
	}
	n, err := asInput[client.NewGroup](cmd.given(c, &cmd.pageFlag))
	if err != nil {
		return err
	}
	return putResource(c, cmd.putFlags, "group "+console.Visible(cmd.Group),
		func() (*client.Group, error) { return c.api.GetGroup(c.Ctx, cmd.Group, client.OnPage(cmd.Page)) },
		func(options ...client.CallOption) (*client.Group, error) {
			return c.api.PutGroup(c.Ctx, cmd.Page, cmd.Group, n, options...)
		})
}

type groupList struct {
	pageFlag
	listing
}

func (cmd *groupList) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	groups, total, err := c.api.ListGroups(cmd.Page).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, groups, total, "No groups yet.", []string{"ID", "ORDER", "NAME"}, func(g *client.Group) []string {
		return []string{g.ID, strconv.Itoa(g.Order), g.Name}
	})
}

// groupArgument is embedded by the commands of one group.
type groupArgument struct {
	Group string `arg:"" help:"Id, name or slug of the group."`
	pageFlag
}

func (g *groupArgument) id(c *commandContext) (string, error) {
	id, err := c.group(&g.Group, &g.pageFlag)
	return optional.Value(id), err
}

type groupShow struct {
	groupArgument
	etagFlag
}

func (cmd *groupShow) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	group, err := c.api.GetGroup(c.Ctx, id)
	if err != nil || cmd.ETag {
		return printETag(c, group, err)
	}
	return object(c, group, err, func(g *client.Group) {
		c.Properties([2]string{"Group", g.Name}, [2]string{"Id", g.ID}, [2]string{"Slug", g.Slug},
			[2]string{"Order", strconv.Itoa(g.Order)}, [2]string{"Created", console.Time(g.CreatedAt)},
			[2]string{"Changed", console.Time(g.UpdatedAt)})
	})
}

type groupEdit struct {
	groupArgument
	resourceFlags
}

func (cmd *groupEdit) Run(c *commandContext) error {
	change, err := asInput[client.GroupChange](cmd.given(c, &cmd.pageFlag))
	if err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	group, err := c.api.ChangeGroup(c.Ctx, id, change)
	return object(c, group, err, func(g *client.Group) { c.Printf("Changed the group %s.\n", console.Visible(g.Name)) })
}

type groupDelete struct {
	groupArgument
	unasked
}

func (cmd *groupDelete) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	return c.deleted(c.api.DeleteGroup(c.Ctx, id), "group", cmd.Group)
}
