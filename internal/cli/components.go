package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/allswell/allswell"
)

type groupCommands struct {
	clientSettings `embed:""`

	Create groupCreate `cmd:"" help:"Create a group on a page."`
	List   groupList   `cmd:"" help:"List a page's groups."`
	Set    groupSet    `cmd:"" help:"Change a group's name or order."`
	Delete groupDelete `cmd:"" help:"Delete a group. Its components stay, in no group."`
}

type groupCreate struct {
	Page  string `required:"" placeholder:"SLUG" help:"Slug of the page."`
	Name  string `required:"" placeholder:"NAME" help:"Name of the group."`
	Order *int   `placeholder:"NUMBER" help:"Its position: lower is first, counted from 0, and negative ones are before that; of equal ones the oldest is first. Behind all others if it is not given."`
}

func (cmd *groupCreate) Run(t *talk) error {
	raw, err := t.post(pathOf("pages", cmd.Page, "groups"), body{"name": cmd.Name}.number("order", cmd.Order))
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(g apiGroup) { t.printf("The group %s is %s\n", visible(g.Name), visible(g.ID)) })
}

type groupList struct {
	Page string `required:"" placeholder:"SLUG" help:"Slug of the page."`
	listing
}

func (cmd *groupList) Run(t *talk) error {
	groups, total, err := t.api.list(t.ctx, pathOf("pages", cmd.Page, "groups"), int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(t.printer, groups, total, "No groups yet.", []string{"ID", "ORDER", "NAME"}, func(g apiGroup) []string {
		return []string{g.ID, strconv.Itoa(g.Order), g.Name}
	})
}

// groupOf is embedded by the commands that name a group.
type groupOf struct {
	Group string `arg:"" help:"Id of the group, or its name together with --page."`
	Page  string `placeholder:"SLUG" help:"Slug of the page, to find the group by its name."`
}

func (g groupOf) path(t *talk) (string, error) {
	id, err := t.group(&g.Group, g.Page)
	if err != nil {
		return "", err
	}
	return pathOf("groups", *id), nil
}

type groupSet struct {
	groupOf
	Name  *string `placeholder:"NAME" help:"Another name."`
	Order *int    `placeholder:"NUMBER" help:"Another position: lower is first, counted from 0, and negative ones are before that; of equal ones the oldest is first."`
}

func (cmd *groupSet) Run(t *talk) error {
	path, err := cmd.path(t)
	if err != nil {
		return err
	}
	raw, err := t.patch(path, body{}.text("name", cmd.Name).number("order", cmd.Order))
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(g apiGroup) { t.printf("The group %s is set.\n", visible(g.Name)) })
}

type groupDelete struct{ groupOf }

func (cmd *groupDelete) Run(t *talk) error {
	path, err := cmd.path(t)
	if err != nil {
		return err
	}
	return t.remove(path, "group", cmd.Group)
}

type componentCommands struct {
	clientSettings `embed:""`

	Create componentCreate `cmd:"" help:"Create a component on a page."`
	List   componentList   `cmd:"" help:"List a page's components."`
	Show   componentShow   `cmd:"" help:"Show a component."`
	Set    componentSet    `cmd:"" help:"Say what a component's status is. It shows at once, and stands until somebody says otherwise or a monitor goes down."`
	Edit   componentEdit   `cmd:"" help:"Change what is not a component's status."`
	Delete componentDelete `cmd:"" help:"Delete a component."`
}

type componentCreate struct {
	Page        string  `required:"" placeholder:"SLUG" help:"Slug of the page."`
	Name        string  `required:"" placeholder:"NAME" help:"Name of the component."`
	Description *string `placeholder:"TEXT" help:"Text under the name."`
	Status      *string `placeholder:"STATUS" help:"Status: ${statuses}. Default: operational."`
	Order       *int    `placeholder:"NUMBER" help:"Its position: lower is first, counted from 0, and negative ones are before that; of equal ones the oldest is first. Behind all others if it is not given."`
	Group       *string `placeholder:"GROUP" help:"Id or name of the group that it belongs to."`
}

func (cmd *componentCreate) Run(t *talk) error {
	group, err := t.group(cmd.Group, cmd.Page)
	if err != nil {
		return err
	}
	raw, err := t.post(pathOf("pages", cmd.Page, "components"), body{"name": cmd.Name}.text("description", cmd.Description).
		text("status", cmd.Status).number("order", cmd.Order).text("group", group))
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(c apiComponent) {
		t.printf("The component %s is %s (%s).\n", visible(c.Name), visible(c.ID), statusWords(c.Status))
	})
}

// group finds a group that may be given by its name, or not at all.
func (t *talk) group(given *string, page string) (*string, error) {
	if given == nil || strings.HasPrefix(*given, allswell.PrefixGroup) {
		return given, nil
	}
	if page == "" {
		return nil, needsPage("group", *given)
	}
	id, err := t.find("group", allswell.PrefixGroup, *given, pathOf("pages", page, "groups"))
	return &id, err
}

// component finds a component that may be given by its name.
func (t *talk) component(given, page string) (string, error) {
	return t.find("component", allswell.PrefixComponent, given, pathOf("pages", page, "components"))
}

// componentIDs finds components that may be given by their names, if the page is
// known.
func (t *talk) componentIDs(given []string, page string) ([]string, error) {
	ids := make([]string, len(given))
	for i, name := range given {
		if page == "" && !strings.HasPrefix(name, allswell.PrefixComponent) {
			return nil, needsPage("component", name)
		}
		var err error
		if ids[i], err = t.component(name, page); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// needsPage is said where a name is given without the page that has it.
func needsPage(noun, name string) error {
	return &usageError{fmt.Errorf("to find the %s %q by its name, say of which page: --page=SLUG", noun, name)}
}

type componentList struct {
	Page string `required:"" placeholder:"SLUG" help:"Slug of the page."`
	listing
}

var componentHeader = []string{"COMPONENT", "STATUS", "NAME"}

func componentRow(c apiComponent) []string { return []string{c.ID, statusWords(c.Status), c.Name} }

func (cmd *componentList) Run(t *talk) error {
	components, total, err := t.api.list(t.ctx, pathOf("pages", cmd.Page, "components"), int(cmd.Limit))
	if err != nil {
		return err
	}
	if t.json || len(components) == 0 {
		return table(t.printer, components, total, "No components yet.", componentHeader, componentRow)
	}
	// A component does not say which group it is in; the page's uptime does.
	up, err := read[apiUptime](t.ctx, t.api, pathOf("pages", cmd.Page, "uptime")+"?days=1")
	if err != nil {
		return err
	}
	groups := make(map[string]string)
	for _, g := range up.Groups {
		groups[g.ID] = g.Name
	}
	of := make(map[string]string)
	for _, c := range up.Components {
		of[c.ID] = groups[orEmpty(c.Group)]
	}
	return table(t.printer, components, total, "", []string{"COMPONENT", "STATUS", "GROUP", "ORDER", "NAME"}, func(c apiComponent) []string {
		return []string{c.ID, statusWords(c.Status), cmp.Or(of[c.ID], "-"), strconv.Itoa(c.Order), c.Name}
	})
}

// componentOf is embedded by the commands that name a component of a page.
type componentOf struct {
	Page      string `required:"" placeholder:"SLUG" help:"Slug of the page."`
	Component string `arg:"" help:"Id or name of the component."`
}

func (c componentOf) path(t *talk) (string, error) {
	id, err := t.component(c.Component, c.Page)
	return pathOf("pages", c.Page, "components", id), err
}

type componentShow struct{ componentOf }

func (cmd *componentShow) Run(t *talk) error {
	path, err := cmd.path(t)
	if err != nil {
		return err
	}
	raw, err := t.get(path)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(c apiComponent) {
		t.facts([2]string{"Component", c.Name}, [2]string{"Id", c.ID}, [2]string{"Status", statusWords(c.Status)},
			[2]string{"Description", orEmpty(c.Description)}, [2]string{"Created", when(c.CreatedAt)},
			[2]string{"Changed", when(c.UpdatedAt)})
	})
}

type componentSet struct {
	componentOf
	Status        string  `arg:"" help:"Status: ${statuses}."`
	Description   *string `placeholder:"TEXT" xor:"description" help:"Another text under the name."`
	NoDescription bool    `xor:"description" help:"No text under the name."`
}

func (cmd *componentSet) Run(t *talk) error {
	path, err := cmd.path(t)
	if err != nil {
		return err
	}
	raw, err := t.patch(path, body{"status": cmd.Status}.textOrNull("description", cmd.Description, cmd.NoDescription))
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(c apiComponent) {
		t.printf("The component %s is now: %s\n", visible(c.Name), statusWords(c.Status))
	})
}

type componentEdit struct {
	Component     string  `arg:"" help:"Id of the component, or its name together with --page."`
	Page          string  `placeholder:"SLUG" help:"Slug of the page, to find components and groups by their names."`
	Name          *string `placeholder:"NAME" help:"Another name."`
	Description   *string `placeholder:"TEXT" xor:"description" help:"Another text under the name."`
	NoDescription bool    `xor:"description" help:"No text under the name."`
	Order         *int    `placeholder:"NUMBER" help:"Another position: lower is first, counted from 0, and negative ones are before that; of equal ones the oldest is first."`
	Group         *string `placeholder:"GROUP" xor:"group" help:"Id or name of another group."`
	NoGroup       bool    `xor:"group" help:"In no group."`
}

func (cmd *componentEdit) Run(t *talk) error {
	ids, err := t.componentIDs([]string{cmd.Component}, cmd.Page)
	if err != nil {
		return err
	}
	group, err := t.group(cmd.Group, cmd.Page)
	if err != nil {
		return err
	}
	fields := body{}.text("name", cmd.Name).textOrNull("description", cmd.Description, cmd.NoDescription).
		number("order", cmd.Order).text("group", group)
	if cmd.NoGroup {
		fields["group"] = ""
	}
	raw, err := t.patch(pathOf("components", ids[0]), fields)
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(c apiComponent) { t.printf("The component %s is changed.\n", visible(c.Name)) })
}

type componentDelete struct{ componentOf }

func (cmd *componentDelete) Run(t *talk) error {
	path, err := cmd.path(t)
	if err != nil {
		return err
	}
	return t.remove(path, "component", cmd.Component)
}
