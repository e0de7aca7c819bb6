package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/optional"
)

// newSlug is embedded by the commands that create a resource with a slug.
type newSlug struct {
	Slug string `placeholder:"SLUG" help:"Slug: a-z, 0-9 and hyphens, at most 63. By default made from the name."`
}

// ComponentCommands are the commands of components.
type ComponentCommands struct {
	ClientSettings `embed:""`

	List   componentList   `cmd:"" help:"List a page's components."`
	Show   componentShow   `cmd:"" help:"Show a component."`
	Create componentCreate `cmd:"" help:"Create a component on a page."`
	Put    componentPut    `cmd:"" help:"Create a component, or replace its configuration. Missing flags get their defaults; status, order, group, and whether it is hidden are kept."`
	Status componentStatus `cmd:"" aliases:"set" help:"Set a component's status. It is shown at once, until it is set again or a monitor goes down."`
	Edit   componentEdit   `cmd:"" help:"Change a component, but not its status."`
	Delete componentDelete `cmd:"" help:"Delete a component with its history."`
}

// NewComponentCommands returns the commands, with a flag for each field.
func NewComponentCommands() (c ComponentCommands) {
	fields := resource.Component.Infos()
	for i, f := range fields {
		if f.Name == "group" {
			fields[i].Doc = "Id, name or slug of the group on the same page" // the API takes no name
		}
	}
	c.Create.resourceFlags, c.Edit.resourceFlags = newResourceFlags(fields, field.Creation),
		newResourceFlags(fields, field.Changing)
	c.Put.resourceFlags = newPutFlags(fields)
	return c
}

// componentInput returns the flags of a component as the input of a call of the client. Its group is given by its id,
// name or slug.
func componentInput[T any](c *commandContext, flags resourceFlags, page *pageFlag) (input T, err error) {
	given, err := flags.given(c, page)
	if ref, ok := given["group"].(*string); ok && *ref != "" && err == nil {
		given["group"], err = c.group(ref, page)
	}
	return asInput[T](given, err)
}

type componentCreate struct {
	pageFlag
	resourceFlags
	uniqueName
}

func (cmd *componentCreate) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	n, err := componentInput[client.NewComponent](c, cmd.resourceFlags, &cmd.pageFlag)
	if err != nil {
		return err
	}
	n.UniqueName = !cmd.AllowDuplicate
	component, err := c.api.CreateComponent(c.Ctx, cmd.Page, n)
	return object(c, component, cmd.explain(err), func(v *client.Component) {
		c.Printf("The component %s is %s (%s).\n", console.Visible(v.Name), console.Visible(v.ID),
			statusLabel(v.Status))
	})
}

type componentPut struct {
	Component string `arg:"" help:"Slug of the component, or the id of one that exists."`
	pageFlag
	resourceFlags
	putFlags
	showing
}

func (cmd *componentPut) Run(c *commandContext) error {
	if err := checkRef(cmd.Component, "component", kernel.PrefixComponent); err != nil {
		return err
	}
	if err := cmd.choose(c); err != nil {
		return err
	}
	n, err := componentInput[client.NewComponent](c, cmd.resourceFlags, &cmd.pageFlag)
	if err != nil {
		return err
	}
	if err := cmd.confirm(c, n.Hidden, cmd.Page, cmd.Component); err != nil {
		return err
	}
	return putResource(c, cmd.putFlags, "component "+console.Visible(cmd.Component),
		func() (*client.Component, error) { return c.api.GetComponent(c.Ctx, cmd.Page, cmd.Component) },
		func(options ...client.CallOption) (*client.Component, error) {
			return c.api.PutComponent(c.Ctx, cmd.Page, cmd.Component, n, options...)
		})
}

type componentList struct {
	pageFlag
	listing
}

var componentHeader = []string{"COMPONENT", "STATUS", "NAME"}

func componentRow(v *client.Component) []string {
	return []string{v.ID, statusLabel(v.Status), v.Name}
}

func affectedRow(v *client.AffectedComponent) []string {
	return []string{v.ID, statusLabel(v.Status), v.Name}
}

func (cmd *componentList) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	components, total, err := c.api.ListComponents(cmd.Page).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	if c.JSON || len(components) == 0 {
		return table(c, components, total, "No components yet.", componentHeader, componentRow)
	}
	// Components don't have their group and slug in the API; the page's uptime does.
	uptime, err := c.api.GetUptime(c.Ctx, cmd.Page, client.UptimeOptions{Days: 1, Hidden: true})
	if err != nil {
		return err
	}
	groups := make(map[string]string) // names by id
	for g, err := range c.api.ListGroups(cmd.Page).All(c.Ctx) {
		if err != nil {
			return err
		}
		groups[g.ID] = g.Name
	}
	groupOf, slugs := make(map[string]string), make(map[string]string)
	for _, v := range uptime.Components {
		groupOf[v.ID], slugs[v.ID] = groups[optional.Value(v.Group)], v.Slug
	}
	hidden := make(map[string]bool) // by id
	for v, err := range c.api.ListHiddenComponents(cmd.Page).All(c.Ctx) {
		if err != nil {
			return err
		}
		hidden[v.ID] = true
	}
	header := []string{"COMPONENT", "STATUS", "GROUP", "ORDER", "SLUG", "NAME"}
	return table(c, components, total, "", header, func(v *client.Component) []string {
		name := v.Name
		if hidden[v.ID] {
			name += " (hidden)"
		}
		return []string{
			v.ID, statusLabel(v.Status), cmp.Or(groupOf[v.ID], "-"), strconv.Itoa(v.Order), cmp.Or(slugs[v.ID], "-"),
			name,
		}
	})
}

// componentArgument is embedded by the commands of one component of a page.
type componentArgument struct {
	pageFlag
	Component string `arg:"" help:"Id, name or slug of the component."`
}

// id returns the id of the component, and chooses the page.
func (a *componentArgument) id(c *commandContext) (string, error) {
	if err := a.choose(c); err != nil {
		return "", err
	}
	return c.component(a.Component, &a.pageFlag)
}

type componentShow struct {
	componentArgument
	etagFlag
}

func (cmd *componentShow) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	component, err := c.api.GetComponent(c.Ctx, cmd.Page, id)
	if err != nil || cmd.ETag {
		return printETag(c, component, err)
	}
	return object(c, component, err, func(v *client.Component) {
		c.Properties([2]string{"Component", v.Name}, [2]string{"Id", v.ID}, [2]string{"Status", statusLabel(v.Status)},
			[2]string{"Description", optional.Value(v.Description)}, [2]string{"Created", console.Time(v.CreatedAt)},
			[2]string{"Changed", console.Time(v.UpdatedAt)})
	})
}

type componentStatus struct {
	componentArgument
	Status        client.Status `arg:"" help:"Status: ${statuses}."`
	Description   *string       `placeholder:"TEXT" xor:"description" help:"New text below the name."`
	NoDescription bool          `xor:"description" help:"Remove the text below the name."`
}

func (cmd *componentStatus) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	component, err := c.api.ChangeComponentStatus(c.Ctx, cmd.Page, id, client.ComponentStatusChange{
		Status: cmd.Status, Description: nullable(cmd.Description, cmd.NoDescription),
	})
	return object(c, component, err, func(v *client.Component) {
		c.Printf("The component %s is now: %s\n", console.Visible(v.Name), statusLabel(v.Status))
	})
}

type componentEdit struct {
	Component string `arg:"" help:"Id, name or slug of the component."`
	pageFlag
	resourceFlags
	showing
}

// showing is embedded by the commands that can make a hidden component visible.
type showing struct {
	Yes bool `short:"y" help:"Show a hidden component without confirmation. Required if there is no terminal."`
}

// confirm asks before a hidden component becomes visible, because visitors then see its past, too. page is "" if the
// component is given by its id. It returns nil without asking if hidden is not false, or if no such component is
// hidden.
func (f showing) confirm(c *commandContext, hidden *bool, page, component string) error {
	if f.Yes || hidden == nil || *hidden {
		return nil
	}
	v, page, err := c.hiddenComponent(page, component)
	if v == nil || err != nil {
		return err
	}
	incidents, err := c.api.ListIncidents(page, client.IncidentFilter{Component: v.ID}).Count(c.Ctx)
	if err != nil {
		return err
	}
	days := min(int(time.Since(v.CreatedAt)/(24*time.Hour))+1, statuspage.HistoryDays)
	return c.confirm(question{
		verb: "show", done: "shown", what: fmt.Sprintf("the component %q", v.Name),
		warning: fmt.Sprintf("visitors then see its history (%s), and its name in %s", some(days, "day"),
			some(incidents, "published incident")),
	})
}

// hiddenComponent returns a component by its id or slug if it is hidden, and its page. If page is "", all pages are
// searched.
func (c *commandContext) hiddenComponent(page, ref string) (*client.Component, string, error) {
	for p, err := range c.api.ListPages().All(c.Ctx) {
		if err != nil {
			return nil, "", err
		}
		if page != "" && p.Slug != page {
			continue
		}
		id := ref
		if v, err := c.api.GetComponent(c.Ctx, p.Slug, ref); err == nil {
			id = v.ID
		} else if !errors.Is(err, client.ErrNotFound) {
			return nil, "", err
		}
		for v, err := range c.api.ListHiddenComponents(p.Slug).All(c.Ctx) {
			if err != nil {
				return nil, "", err
			}
			if v.ID == id {
				return v, p.Slug, nil
			}
		}
	}
	return nil, "", nil
}

func (cmd *componentEdit) Run(c *commandContext) error {
	id, err := c.component(cmd.Component, &cmd.pageFlag)
	if err != nil {
		return err
	}
	change, err := componentInput[client.ComponentChange](c, cmd.resourceFlags, &cmd.pageFlag)
	if err != nil {
		return err
	}
	if err := cmd.confirm(c, change.Hidden, cmd.Page, id); err != nil {
		return err
	}
	component, err := c.api.EditComponent(c.Ctx, id, change)
	return object(c, component, err, func(v *client.Component) {
		c.Printf("Changed the component %s.\n", console.Visible(v.Name))
	})
}

type componentDelete struct {
	componentArgument
	confirmation
}

func (cmd *componentDelete) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	if err := cmd.confirm(c, func() (string, error) {
		v, err := c.api.GetComponent(c.Ctx, cmd.Page, id)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("the component %q with its history", v.Name), nil
	}); err != nil {
		return err
	}
	return c.deleted(c.api.DeleteComponent(c.Ctx, cmd.Page, id), "component", cmd.Component)
}
