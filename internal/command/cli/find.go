package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// pageFlag is embedded by the commands for things on a page.
type pageFlag struct {
	Page string `env:"ALLSWELL_PAGE" placeholder:"SLUG" help:"Slug of the page. Not needed if there is only one."`
}

// choose sets Page to the slug of the only page, if no page is given.
func (f *pageFlag) choose(c *commandContext) error {
	if f.Page != "" {
		return nil
	}
	const most = 5
	pages, total, err := c.api.ListPages().First(c.Ctx, most)
	switch {
	case err != nil:
		return err
	case total == 0:
		return fmt.Errorf("there are no pages yet: `allswell page create --name NAME` creates one")
	case total > 1:
		slugs := make([]string, len(pages))
		for i, p := range pages {
			slugs[i] = console.Visible(p.Slug)
		}
		list := strings.Join(slugs, ", ")
		if total > len(pages) {
			list += fmt.Sprintf(" and %d more", total-len(pages))
		}
		return console.UsageErrorf("there are %d pages: choose one with --page=SLUG or ALLSWELL_PAGE (%s)", total, list)
	}
	f.Page = pages[0].Slug
	return nil
}

// optionalPage is embedded by the commands of a page. The default is the only page.
type optionalPage struct {
	Page string `arg:"" optional:"" name:"slug" env:"ALLSWELL_PAGE" help:"Slug of the page. Not needed if there is only one."`
}

func (f *optionalPage) choose(c *commandContext) error { return (*pageFlag)(f).choose(c) }

// Limits of searches.
const (
	maxSameName = 100    // resources with the same name, whose ids are listed
	maxSearched = 10_000 // resources that are searched for an id prefix or a title
	minIDPart   = 6      // minimum characters after comp_ of an id prefix
)

// Minimum lengths of ids in tables on a terminal. They include the creation time in milliseconds, so that they are
// rarely ambiguous outside the table either.
const (
	shownIDPart = 10 // after comp_
	shownUUID   = 13
)

// resourceKind is a kind of resources that have ids with a prefix.
type resourceKind struct {
	noun   string
	prefix string
}

// find returns the id of a resource that is given by its id, by an unambiguous beginning of its id, by its name, which
// must be unique in the list, or by its slug.
func find[T any](
	c *commandContext, list *client.List[T], kind resourceKind, given string, named func(*T) (id, name string),
) (string, error) {
	if isWholeID(kind.prefix, given) {
		return given, nil
	}
	if strings.HasPrefix(given, kind.prefix) {
		return findByPrefix(c, list, kind.noun, given, func(v *T) string { id, _ := named(v); return id })
	}
	all, total, err := list.Filter(client.Filter{Name: given}).First(c.Ctx, maxSameName)
	if err == nil && total == 0 && kernel.ValidSlug(given) {
		all, total, err = list.Filter(client.Filter{Slug: given}).First(c.Ctx, 1)
		if err == nil && total == 1 {
			id, _ := named(all[0])
			return console.Visible(id), nil
		}
	}
	if err != nil {
		return "", err
	}
	var ids []string
	for _, v := range all {
		if id, name := named(v); name == given {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return "",
			fmt.Errorf("there is no %s with the name or slug %q (an id would begin with %s)", kind.noun, given,
				kind.prefix)
	}
	return only(ids, fmt.Sprintf("several %s are named %q", plural(kind.noun), given))
}

// isWholeID reports whether given begins with prefix and is used as an id without a search: it is complete, or too
// short to be the beginning of an id.
func isWholeID(prefix, given string) bool {
	rest, isID := strings.CutPrefix(given, prefix)
	return isID && (kernel.ValidID(prefix, given) || len(rest) < minIDPart)
}

// findByPrefix returns the only id in a list that begins with given, or given if there is none.
func findByPrefix[T any](
	c *commandContext, list *client.List[T], noun, given string, idOf func(*T) string,
) (string, error) {
	var ids []string
	err := search(c, list, noun, func(v *T) {
		if id := idOf(v); strings.HasPrefix(id, given) {
			ids = append(ids, id)
		}
	})
	if err != nil || len(ids) == 0 {
		return given, err
	}
	return only(ids, fmt.Sprintf("the ids of several %s begin with %q", plural(noun), given))
}

// search calls look for each resource in a list. It returns an error if there are more than maxSearched.
func search[T any](c *commandContext, list *client.List[T], noun string, look func(*T)) error {
	n := 0
	for v, err := range list.All(c.Ctx) {
		if err != nil {
			return err
		}
		if n++; n > maxSearched {
			return fmt.Errorf("there are more than %d %s: give the whole id", maxSearched, plural(noun))
		}
		look(v)
	}
	return nil
}

// only returns the only id, or an error that lists the ids.
func only(ids []string, several string) (string, error) {
	if len(ids) == 1 {
		return console.Visible(ids[0]), nil
	}
	return "", fmt.Errorf("%s: give the id of one (%s)", several, firstOf(ids))
}

func plural(noun string) string {
	if noun == "delivery" {
		return "deliveries"
	}
	return noun + "s"
}

// firstOf returns the first ids as a list, with the number of the others.
func firstOf(ids []string) string {
	const most = 5
	list := console.Visible(strings.Join(ids[:min(most, len(ids))], ", "))
	if len(ids) <= most {
		return list
	}
	return fmt.Sprintf("%s and %d more", list, len(ids)-most)
}

// titled is what distinguishes an incident or maintenance from others.
type titled struct {
	id, title string
	active    bool // not over
}

// findTitled returns the id of a resource that is given by an unambiguous beginning of its id or by its title. If
// several resources have the title, it returns the only active one.
func findTitled[T any](
	c *commandContext, lists []*client.List[T], noun, given string, describe func(*T) titled,
) (string, error) {
	return findLabelled(c, lists, labelledNoun{noun, "title"}, given, describe)
}

// findNamed is findTitled for a resource with a unique name.
func findNamed[T any](
	c *commandContext, list *client.List[T], noun, given string, named func(*T) (id, name string),
) (string, error) {
	return findLabelled(c, []*client.List[T]{list}, labelledNoun{noun, "name"}, given, func(v *T) titled {
		id, name := named(v)
		return titled{id: id, title: name}
	})
}

// notFound is the error that no resource has a title or a name.
type notFound string

func (e notFound) Error() string { return string(e) }

// labelledNoun is a kind of resources, and the field by which they are found besides the id: title or name.
type labelledNoun struct{ noun, label string }

func findLabelled[T any](
	c *commandContext, lists []*client.List[T], what labelledNoun, given string, describe func(*T) titled,
) (string, error) {
	var byTitle, active, byFoldedTitle, byID []string
	look := func(v *T) {
		d := describe(v)
		if d.title == given {
			byTitle = append(byTitle, d.id)
			if d.active {
				active = append(active, d.id)
			}
		}
		if strings.EqualFold(d.title, given) {
			byFoldedTitle = append(byFoldedTitle, d.id)
		}
		if strings.HasPrefix(d.id, strings.ToLower(given)) {
			byID = append(byID, d.id)
		}
	}
	for _, list := range lists {
		if err := search(c, list, what.noun, look); err != nil {
			return "", err
		}
	}
	several := fmt.Sprintf("several %s have the %s %q", plural(what.noun), what.label, given)
	switch {
	case given == "":
	case len(active) == 1:
		return active[0], nil
	case len(byTitle) > 0:
		return only(byTitle, several)
	case len(byID) > 0:
		return only(byID, fmt.Sprintf("the ids of several %s begin with %q", plural(what.noun), given))
	case len(byFoldedTitle) > 0:
		return only(byFoldedTitle, several)
	}
	return "",
		notFound(fmt.Sprintf("there is no %s with the %s %q, or with an id that begins so", what.noun, what.label,
			given))
}

// uuid matches the id of an incident.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// incidentArgument is embedded by the commands of one incident.
type incidentArgument struct {
	Incident string `arg:"" help:"Id of the incident or the beginning of it, its title, or latest."`
	pageFlag
	drafts bool // it is looked up among the drafts only
}

// id returns the id of the incident, which is published or a draft.
func (a *incidentArgument) id(c *commandContext) (string, error) {
	if uuid.MatchString(a.Incident) {
		return a.Incident, nil
	}
	if err := a.choose(c); err != nil {
		return "", err
	}
	noun, lists := "draft",
		[]*client.List[client.Incident]{c.api.ListIncidents(a.Page, client.IncidentFilter{Drafts: true})}
	if !a.drafts {
		noun, lists = "incident", append(lists, c.api.ListIncidents(a.Page, client.IncidentFilter{}))
	}
	if a.Incident == "latest" {
		return a.latest(c, noun, lists)
	}
	return findTitled(c, lists, noun, a.Incident, func(i *client.Incident) titled {
		return titled{i.ID, i.Title, !i.Resolved}
	})
}

// latest returns the id of the newest incident in the lists.
func (a *incidentArgument) latest(
	c *commandContext, noun string, lists []*client.List[client.Incident],
) (string, error) {
	var latest *client.Incident
	for _, list := range lists {
		newest, _, err := list.First(c.Ctx, 1)
		if err != nil {
			return "", err
		}
		if len(newest) > 0 && (latest == nil || newest[0].CreatedAt.After(latest.CreatedAt)) {
			latest = newest[0]
		}
	}
	if latest == nil {
		return "", fmt.Errorf("the page %s has no %s", console.Visible(a.Page), plural(noun))
	}
	return latest.ID, nil
}

// isDraft reports whether the incident with the id is a draft on any page. The incident itself does not show it.
func (c *commandContext) isDraft(id string) (bool, error) {
	for page, err := range c.api.ListPages().All(c.Ctx) {
		if err != nil {
			return false, err
		}
		for draft, err := range c.api.ListIncidents(page.Slug, client.IncidentFilter{Drafts: true}).All(c.Ctx) {
			if err != nil || draft.ID == id {
				return err == nil, err
			}
		}
	}
	return false, nil
}

// maintenanceArgument is embedded by the commands of one maintenance.
type maintenanceArgument struct {
	Maintenance string `arg:"" help:"Id of the maintenance or the beginning of it, or its title."`
	pageFlag
}

// id returns the id of the maintenance.
func (a *maintenanceArgument) id(c *commandContext) (string, error) {
	if isWholeID(kernel.PrefixMaintenance, a.Maintenance) {
		return a.Maintenance, nil
	}
	if err := a.choose(c); err != nil {
		return "", err
	}
	all := []*client.List[client.Maintenance]{c.api.ListMaintenances(a.Page, client.MaintenanceFilter{})}
	return findTitled(c, all, "maintenance", a.Maintenance, func(m *client.Maintenance) titled {
		return titled{m.ID, m.Title, m.State != client.MaintenanceCompleted}
	})
}

// group returns the id of a group that is given by its id, name or slug; nil if none is given.
func (c *commandContext) group(given *string, page *pageFlag) (*string, error) {
	if given == nil || isWholeID(kernel.PrefixGroup, *given) {
		return given, nil
	}
	if err := page.choose(c); err != nil {
		return nil, err
	}
	id, err := find(c, c.api.ListGroups(page.Page), resourceKind{"group", kernel.PrefixGroup}, *given,
		func(g *client.Group) (id, name string) { return g.ID, g.Name })
	return &id, err
}

// component returns the id of a component that is given by its id, name or slug.
func (c *commandContext) component(given string, page *pageFlag) (string, error) {
	if isWholeID(kernel.PrefixComponent, given) {
		return given, nil
	}
	if err := page.choose(c); err != nil {
		return "", err
	}
	return find(c, c.api.ListComponents(page.Page), resourceKind{"component", kernel.PrefixComponent}, given,
		func(v *client.Component) (id, name string) { return v.ID, v.Name })
}

// components returns the ids of components.
func (c *commandContext) components(given []string, page *pageFlag) ([]string, error) {
	ids := make([]string, len(given))
	for i, name := range given {
		var err error
		if ids[i], err = c.component(name, page); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// monitor returns the id of a monitor that is given by its id, name or slug.
func (c *commandContext) monitor(given string) (string, error) {
	return find(c, c.api.ListMonitors(client.MonitorFilter{}), resourceKind{"monitor", kernel.PrefixMonitor}, given,
		func(m *client.Monitor) (id, name string) { return m.ID, m.Name })
}

// zonePage returns the page whose time zone applies to a command that is about any number of pages: the given page if
// there is exactly one, or else the page of ALLSWELL_PAGE.
func zonePage(given ...string) *pageFlag {
	if len(given) == 1 && given[0] != "" {
		return &pageFlag{given[0]}
	}
	return &pageFlag{os.Getenv("ALLSWELL_PAGE")}
}

// moment returns a time from the command line. A time without an offset is in the time zone of the page, which then is
// also the zone of the output.
func (c *commandContext) moment(m timeinput.Moment, page *pageFlag) (time.Time, error) {
	if m.NeedsZone() && c.zone == nil {
		if err := page.choose(c); err != nil {
			return time.Time{}, err
		}
		p, err := c.api.GetPage(c.Ctx, page.Page)
		if err != nil {
			return time.Time{}, err
		}
		if c.zone, err = time.LoadLocation(p.TimeZone); err != nil {
			return time.Time{},
				fmt.Errorf("this computer does not know the time zone %s of the page: give the time with its offset",
					console.Visible(p.TimeZone))
		}
	}
	t, err := m.In(c.zone, time.Now())
	if err != nil {
		return t, &console.UsageError{Err: err}
	}
	return t, nil
}
