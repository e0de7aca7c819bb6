package cli

import (
	"cmp"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/optional"
)

// TemplateCommands are the commands of templates of incidents.
type TemplateCommands struct {
	ClientSettings `embed:""`

	List   templateList   `cmd:"" help:"List the templates."`
	Show   templateShow   `cmd:"" help:"Show a template."`
	Create templateCreate `cmd:"" help:"Create a template."`
	Put    templatePut    `cmd:"" help:"Create a template, or replace its configuration. Missing flags get their defaults."`
	Edit   templateEdit   `cmd:"" aliases:"set" help:"Change a template."`
	Delete templateDelete `cmd:"" help:"Delete a template. Incidents that began with it stay as they are."`
}

// NewTemplateCommands returns the commands, with a flag for each field.
func NewTemplateCommands() (c TemplateCommands) {
	fields := resource.IncidentTemplate.Infos()
	c.Create.resourceFlags, c.Edit.resourceFlags = newResourceFlags(fields, field.Creation),
		newResourceFlags(fields, field.Changing)
	c.Put.resourceFlags = newPutFlags(fields)
	return c
}

type templateList struct {
	Page string `placeholder:"SLUG" help:"Only templates that can be used on this page."`
	listing
}

func (cmd *templateList) Run(c *commandContext) error {
	templates, total, err := c.api.ListIncidentTemplates(cmd.Page).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, templates, total, "No templates yet.", []string{"TEMPLATE", "PAGE", "NAME", "TITLE"},
		func(t *client.IncidentTemplate) []string {
			return []string{t.ID, cmp.Or(optional.Value(t.Page), "all"), t.Name, t.Title}
		})
}

// templateArgument is embedded by the commands of one template.
type templateArgument struct {
	Template string `arg:"" help:"Id, slug or name of the template."`
}

type templateShow struct {
	templateArgument
	etagFlag
}

func (cmd *templateShow) Run(c *commandContext) error {
	t, err := c.api.GetIncidentTemplate(c.Ctx, cmd.Template)
	if err != nil || cmd.ETag {
		return printETag(c, t, err)
	}
	return object(c, t, err, func(t *client.IncidentTemplate) {
		c.Properties([2]string{"Template", t.Name}, [2]string{"Id", t.ID}, [2]string{"Slug", t.Slug},
			[2]string{"Page", cmp.Or(optional.Value(t.Page), "all")}, [2]string{"Title", t.Title},
			[2]string{"Impact", cmp.Or(string(optional.Value(t.Impact)), "by the worst status of the components")},
			[2]string{"State", cmp.Or(string(optional.Value(t.State)), string(client.IncidentInvestigating))})
		if message := optional.Value(t.Message); message != "" {
			c.Printf("\n%s\n", console.Paragraph(message, "  "))
		}
	})
}

type templateCreate struct{ resourceFlags }

func (cmd *templateCreate) Run(c *commandContext) error {
	n, err := asInput[client.NewIncidentTemplate](cmd.given(c, nil))
	if err != nil {
		return err
	}
	t, err := c.api.CreateIncidentTemplate(c.Ctx, n)
	return object(c, t, err, func(t *client.IncidentTemplate) {
		c.Printf("The template %s is %s\n", console.Visible(t.Name), console.Visible(t.ID))
	})
}

type templatePut struct {
	Template string `arg:"" help:"Slug of the template, or the id of one that exists."`
	resourceFlags
	putFlags
}

func (cmd *templatePut) Run(c *commandContext) error {
	read := func() (client.NewIncidentTemplate, error) {
		return asInput[client.NewIncidentTemplate](cmd.given(c, nil))
	}
	return putDescribed(c, cmd.putFlags, "template", kernel.PrefixIncidentTemplate, cmd.Template, read,
		c.api.GetIncidentTemplate, c.api.PutIncidentTemplate)
}

type templateEdit struct {
	templateArgument
	resourceFlags
}

func (cmd *templateEdit) Run(c *commandContext) error {
	change, err := asInput[client.IncidentTemplateChange](cmd.given(c, nil))
	if err != nil {
		return err
	}
	t, err := c.api.ChangeIncidentTemplate(c.Ctx, cmd.Template, change)
	return object(c, t, err, func(t *client.IncidentTemplate) {
		c.Printf("Changed the template %s.\n", console.Visible(t.Name))
	})
}

type templateDelete struct {
	templateArgument
	unasked
}

func (cmd *templateDelete) Run(c *commandContext) error {
	t, err := c.api.GetIncidentTemplate(c.Ctx, cmd.Template)
	if err != nil {
		return err
	}
	return c.deleted(c.api.DeleteIncidentTemplate(c.Ctx, t.ID), "template", t.Name)
}
