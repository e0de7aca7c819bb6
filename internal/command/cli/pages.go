package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/optional"
)

// PageCommands are the commands of status pages.
type PageCommands struct {
	ClientSettings `embed:""`

	List    pageList    `cmd:"" help:"List all pages."`
	Show    pageShow    `cmd:"" help:"Show a page with its components and open incidents."`
	Create  pageCreate  `cmd:"" help:"Create a page."`
	Put     pagePut     `cmd:"" help:"Create a page, or replace its settings. Missing flags get their defaults, unless their help says that they are kept; images are kept, too."`
	Edit    pageEdit    `cmd:"" aliases:"set" help:"Change a page's name, address, appearance, or who sees it."`
	Access  pageAccess  `cmd:"" help:"Show or change who can see a private page, besides clients with a token: by password, sign-in, network or secret link."`
	PingKey pagePingKey `cmd:"" help:"Show, make, rotate or remove the key with which jobs ping the monitors of a page by their slugs."`
	Domain  pageDomain  `cmd:"" help:"Show whether a page's domain is verified, the DNS record that verifies it, and where the domain points to."`
	Uptime  pageUptime  `cmd:"" help:"Show the uptime of a page and its components."`
	Delete  pageDelete  `cmd:"" help:"Delete a page with everything on it, and its monitors."`
}

// NewPageCommands returns the commands, with a flag for each field.
func NewPageCommands() (c PageCommands) {
	// it is in a file
	fields := slices.DeleteFunc(resource.Page.Infos(), func(i field.Info) bool { return i.Name == "custom_css" })
	for i := range fields {
		if fields[i].Kind == field.KindSlug {
			fields[i].Required, fields[i].Empty = false, "made from the name"
		}
	}
	c.Create.resourceFlags, c.Edit.resourceFlags = newResourceFlags(fields, field.Creation),
		newResourceFlags(fields, field.Changing)
	c.Put.resourceFlags = newPutFlags(fields)
	return c
}

type pageCreate struct{ pageFlags }

func (cmd *pageCreate) Run(c *commandContext) error {
	given, err := cmd.given(c)
	if err != nil {
		return err
	}
	n, err := convert[client.NewPage](given)
	if err != nil {
		return err
	}
	if strings.TrimSpace(n.Name) == "" {
		return console.UsageErrorf("--name: a page needs a name")
	}
	made := n.Slug == ""
	if made {
		n.Slug = slugOf(n.Name)
	}
	if n.Slug == "" {
		return console.UsageErrorf("no slug can be made from the name %q: give one with --slug", n.Name)
	}
	page, err := c.api.CreatePage(c.Ctx, n)
	if made && refusesOnly(err, "slug") { // it was made from the name, so it is valid
		return console.UsageErrorf("the page %s exists already, nothing was changed: give the new page another slug "+
			"with --slug", n.Slug)
	}
	return object(c, page, err, func(page *client.Page) {
		c.Printf("The page %s is at %s\n", console.Visible(page.Name), console.Visible(page.URL))
		if who := visibleTo(page.Visibility); who != "" {
			c.Printf("It is shown%s.\n", who)
		}
	})
}

// refusesOnly reports whether the API refused a request only because of one field.
func refusesOnly(err error, field string) bool {
	refused := (*client.Error)(nil)
	return errors.As(err, &refused) && len(refused.Errors) == 1 && len(refused.Errors[field]) == 1
}

type pagePut struct {
	Page string `arg:"" name:"slug" help:"Slug of the page."`
	pageFlags
	putFlags
}

func (cmd *pagePut) Run(c *commandContext) error {
	n, err := asInput[client.NewPage](cmd.given(c))
	if err != nil {
		return err
	}
	return putResource(c, cmd.putFlags, "page "+console.Visible(cmd.Page),
		func() (*client.Page, error) { return c.api.GetPage(c.Ctx, cmd.Page) },
		func(options ...client.CallOption) (*client.Page, error) {
			return c.api.PutPage(c.Ctx, cmd.Page, n, options...)
		})
}

// slugOf returns the slug that is made from a name, or "" if the name has letters that are not Latin.
func slugOf(name string) string {
	if strings.ContainsFunc(kernel.ToASCII(name), func(r rune) bool {
		return r > unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
	}) {
		return ""
	}
	return kernel.SlugOf(name, "")
}

// printPage prints a page without what is on it.
func (c *commandContext) printPage(page *client.Page) {
	domain := "none"
	if page.Domain != nil {
		domain = "https://" + *page.Domain
		if status := optional.Value(page.DomainStatus); status != "" && status != client.DomainVerified {
			domain = fmt.Sprintf("%s (%s: see allswell page domain %s)", *page.Domain, status, page.Slug)
		}
	}
	home := ""
	if page.Home {
		home = "yes"
	}
	times := "not shown"
	if page.ResponseTimes {
		times = "shown on component pages"
	}
	signUps := "visitors and operators"
	if !page.WebhookSignUps {
		signUps = "operators only"
	}
	language := "en, the default"
	if page.Language != nil {
		language = *page.Language
	}
	languages, css := "all", "none"
	if len(page.Languages) > 0 {
		languages = strings.Join(page.Languages, ", ")
	}
	if page.CustomCSS != nil {
		css = fmt.Sprintf("%d bytes", len(*page.CustomCSS))
	}
	properties := [][2]string{{"Page", page.Name}, {"Slug", page.Slug}, {"Status", statusLabel(page.Status)},
		{"Description", optional.Value(page.Description)}, {"Address", page.URL},
		{"Own domain", domain}, {"Time zone", page.TimeZone}, {"Language", language}, {"Offered languages", languages},
		{"Style sheet", css}, {"Accent", textOrNone(page.Accent)}, {"Logo", textOrNone(page.Logo)},
		{"Dark logo", textOrNone(page.LogoDark)}, {"Icon", textOrNone(page.Icon)},
		{"Visibility", string(page.Visibility)}, {"Home page", home}, {"Incidents", string(page.AutoIncidents)},
		{"Webhooks", signUps}, {"Response times", times}}
	for _, l := range page.FooterLinks {
		properties = append(properties, [2]string{"Footer", l.Label + ": " + l.URL})
	}
	c.Properties(append(properties, [2]string{"Created", console.Time(page.CreatedAt)})...)
}

type pageList struct{ listing }

func (cmd *pageList) Run(c *commandContext) error {
	pages, total, err := c.api.ListPages().First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, pages, total, "No pages yet.", []string{"SLUG", "STATUS", "VISIBILITY", "NAME"},
		func(page *client.Page) []string {
			return []string{page.Slug, statusLabel(page.Status), string(page.Visibility), page.Name}
		})
}

type pageShow struct {
	optionalPage
	etagFlag
}

func (cmd *pageShow) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	page, err := c.api.GetPage(c.Ctx, cmd.Page)
	if err != nil || cmd.ETag {
		return printETag(c, page, err)
	}
	if c.JSON {
		return object(c, page, err, nil)
	}
	components, allComponents, err := c.api.ListComponents(page.Slug).First(c.Ctx, 100)
	if err != nil {
		return err
	}
	unresolved := client.IncidentFilter{Resolved: new(false)}
	incidents, allOpen, err := c.api.ListIncidents(page.Slug, unresolved).First(c.Ctx, 100)
	if err != nil {
		return err
	}
	c.printPage(page)
	c.Printf("\n")
	if err := table(c, components, allComponents, "No components yet.", componentHeader, componentRow); err != nil {
		return err
	}
	c.Printf("\n")
	if err := table(c, incidents, allOpen, "No open incidents.", incidentHeader, incidentRow); err != nil {
		return err
	}
	return c.mentionDrafts(page.Slug, unresolved)
}

type pageUptime struct {
	optionalPage
	Days int `default:"90" placeholder:"COUNT" help:"Number of days, including today: at most 90."`
}

func (cmd *pageUptime) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	uptime, err := c.api.GetUptime(c.Ctx, cmd.Page, client.UptimeOptions{Days: cmd.Days})
	return object(c, uptime, err, func(u *client.Uptime) {
		c.Properties([2]string{"Page", cmd.Page}, [2]string{"Days", fmt.Sprintf("%d (%s)", u.Days, u.TimeZone)},
			[2]string{"Uptime", percent(u.Uptime)})
		if len(u.Components) == 0 {
			return
		}
		rows := [][]string{{"COMPONENT", "UPTIME", "STATUS", "NAME"}}
		for _, v := range u.Components {
			rows = append(rows, []string{v.ID, percent(v.Uptime), statusLabel(v.Status), v.Name})
		}
		c.Printf("\n")
		c.Table(rows)
		if len(u.Groups) == 0 {
			return
		}
		rows = [][]string{{"GROUP", "UPTIME", "NAME"}}
		for _, g := range u.Groups {
			rows = append(rows, []string{g.ID, percent(g.Uptime), g.Name})
		}
		c.Printf("\n")
		c.Table(rows)
	})
}

// percent formats an uptime.
func percent(p *float64) string {
	if p == nil {
		return "unknown"
	}
	return strconv.FormatFloat(*p, 'f', 3, 64) + " %"
}

type pageDelete struct {
	Page string `arg:"" name:"slug" help:"Slug of the page."`
	confirmation
}

func (cmd *pageDelete) Run(c *commandContext) error {
	if err := cmd.confirm(c, func() (string, error) {
		with, err := c.contentsOf(cmd.Page)
		return "the page " + cmd.Page + with, err
	}); err != nil {
		return err
	}
	return c.deleted(c.api.DeletePage(c.Ctx, cmd.Page), "page", cmd.Page)
}

// contentsOf returns what is deleted together with a page: " with 2 components and 1 incident".
func (c *commandContext) contentsOf(slug string) (string, error) {
	if _, err := c.api.GetPage(c.Ctx, slug); err != nil {
		return "", err
	}
	var parts []string
	for _, part := range []struct {
		noun  string
		count func() (int, error)
	}{
		{"component", func() (int, error) { return c.api.ListComponents(slug).Count(c.Ctx) }},
		{"group", func() (int, error) { return c.api.ListGroups(slug).Count(c.Ctx) }},
		{"incident", func() (int, error) { return c.api.ListIncidents(slug, client.IncidentFilter{}).Count(c.Ctx) }},
		{"draft", func() (int, error) {
			return c.api.ListIncidents(slug, client.IncidentFilter{Drafts: true}).Count(c.Ctx)
		}},
		{"maintenance", func() (int, error) {
			return c.api.ListMaintenances(slug, client.MaintenanceFilter{}).Count(c.Ctx)
		}},
		{"subscriber", func() (int, error) {
			return c.api.ListSubscribers(slug, client.SubscriberFilter{}).Count(c.Ctx)
		}},
		{"monitor", func() (int, error) { return c.api.ListMonitors(client.MonitorFilter{Page: slug}).Count(c.Ctx) }},
	} {
		switch n, err := part.count(); {
		case err != nil:
			return "", err
		case n > 0:
			parts = append(parts, some(n, part.noun))
		}
	}
	switch last := len(parts) - 1; last {
	case -1:
		return "", nil
	case 0:
		return " with " + parts[0], nil
	default:
		return " with " + strings.Join(parts[:last], ", ") + " and " + parts[last], nil
	}
}
