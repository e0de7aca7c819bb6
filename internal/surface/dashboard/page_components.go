package dashboard

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// componentsScreen is the data of the template page_components.
type componentsScreen struct {
	pageHead
	Order        string // statuspage.OrderTag of the groups and components
	Blocks       []componentBlock
	Pager        pager
	P            string // of the pager: the part of the list that is shown
	NewComponent newObject
	NewGroup     newObject
}

// componentBlock is a group with its components. Group is zero for components without a group.
type componentBlock struct {
	Group statuspage.Group
	Focus string // the button of the group that was used: "up" or "down"
	Rows  []componentRow
}

// componentRow is a component in the list.
type componentRow struct {
	statuspage.Component
	Statuses []option
	Focus    string // the button of the row that was used: "up" or "down"
}

// newObject is a form that adds something to a list.
type newObject struct {
	*form
	Fields []field
}

// listAll requests all components or groups of a page, whose number is limited.
var listAll = store.Pagination{Page: 1, PerPage: kernel.MaxComponents}

// showComponents lists the components of a page by their groups.
func (v *visit) showComponents() error {
	s, err := v.newComponentsScreen(newForm(url.Values{}), newForm(url.Values{}))
	if err != nil {
		return err
	}
	return v.showLive("page_components", s.Page.Name+": components", s)
}

// newComponentsScreen loads the list, with the forms that add a component and a group.
func (v *visit) newComponentsScreen(component, group *form) (s componentsScreen, err error) {
	if s.pageHead, err = v.pageHead(); err != nil {
		return s, err
	}
	groups, _, err := v.store.Groups().List(v.r.Context(), v.actor(), s.Page.Slug, store.Filter{}, listAll)
	if err != nil {
		return s, err
	}
	components, _, err := v.store.Components().List(v.r.Context(), v.actor(), s.Page.Slug, store.Filter{}, listAll)
	if err != nil {
		return s, err
	}
	query := v.r.URL.Query()
	s.P = query.Get("p")
	s.Order = statuspage.OrderTag(groups, components)
	s.arrange(append([]statuspage.Group{{}}, groups...), components, query)
	s.NewComponent = newObject{component, []field{
		component.draw(field{Name: "name", Label: "Name", Placeholder: "Website"}),
		component.draw(groupField(groups)),
	}}
	s.NewGroup = newObject{group, []field{group.draw(field{
		Name: "name", ID: "group-name", Label: "Name", Placeholder: "Europe",
	})}}
	return s, nil
}

// arrange sets the blocks, and the pager if there are more components than a screen shows. Groups without components
// are on the last screen. A page with groups has a block without a group, to put components into.
func (s *componentsScreen) arrange(groups []statuspage.Group, components []statuspage.Component, query url.Values) {
	at := func(groupID string) int {
		return slices.IndexFunc(groups, func(g statuspage.Group) bool { return g.ID == groupID })
	}
	slices.SortStableFunc(components, func(a, b statuspage.Component) int {
		return cmp.Compare(at(a.GroupID), at(b.GroupID))
	})
	r := pagination(query)
	from := min((r.Page-1)*r.PerPage, len(components))
	to := min(from+r.PerPage, len(components))
	s.Pager = newPager(pagePath(s.Page)+"/components", url.Values{}, r, to-from, len(components))
	for _, g := range groups {
		block := componentBlock{Group: g}
		if query.Get("moved") == g.ID {
			block.Focus = query.Get("by")
		}
		for _, c := range components[from:to] {
			if c.GroupID != g.ID {
				continue
			}
			row := componentRow{Component: c, Statuses: statusOptions(c.Status())}
			if query.Get("moved") == c.ID {
				row.Focus = query.Get("by")
			}
			block.Rows = append(block.Rows, row)
		}
		empty := !slices.ContainsFunc(components, func(c statuspage.Component) bool { return c.GroupID == g.ID })
		target := g.ID == "" && s.CanEdit && len(groups) > 1 && from == 0
		if len(block.Rows) > 0 || empty && (target || g.ID != "" && to == len(components)) {
			s.Blocks = append(s.Blocks, block)
		}
	}
}

// statusOptions returns the statuses that people can set, mildest first.
func statusOptions(now kernel.Status) (options []option) {
	for _, status := range kernel.Statuses {
		if status.Canonical() == status {
			options = append(options, option{
				Value: string(status), Label: status.Label(), Selected: status == now.Canonical(),
			})
		}
	}
	return options
}

func groupField(groups []statuspage.Group) field {
	return field{
		Name: "group", Label: "Group", Type: "select",
		Options: append([]option{{Label: "none"}}, optionsOfGroups(groups)...),
	}
}

// showComponentsAgain answers a form that cannot be accepted.
func (v *visit) showComponentsAgain(component, group *form) error {
	s, err := v.newComponentsScreen(component, group)
	if err != nil {
		return err
	}
	return v.show(http.StatusUnprocessableEntity, "page_components", s.Page.Name+": components", s)
}

// createComponent adds a component to a page.
func (v *visit) createComponent() error {
	f := newForm(v.r.PostForm)
	_, err := v.store.Components().UniqueNames(!f.allowsSameName()).Create(v.r.Context(), v.actor(),
		v.r.PathValue("page"),
		resource.Component.ReadForm(statuspage.Component{}, f.values, time.UTC, v.now()))
	if f.refused(err) {
		f.offerSameName("component", v.onThisPage("components"))
		return v.showComponentsAgain(f, newForm(url.Values{}))
	}
	if err != nil {
		return err
	}
	return v.redirectToComponents(nil)
}

// createGroup adds a group to a page.
func (v *visit) createGroup() error {
	f := newForm(v.r.PostForm)
	_, err := v.store.Groups().UniqueNames(!f.allowsSameName()).Create(v.r.Context(), v.actor(), v.r.PathValue("page"),
		resource.Group.ReadForm(statuspage.Group{}, f.values, time.UTC, v.now()))
	if f.refused(err) {
		f.offerSameName("group", v.onThisPage("groups"))
		return v.showComponentsAgain(newForm(url.Values{}), f)
	}
	if err != nil {
		return err
	}
	return v.redirectToComponents(nil)
}

// onThisPage returns a function that returns the address of a component or of a group by its id.
func (v *visit) onThisPage(kind string) func(id string) string {
	return func(id string) string {
		return Path + "/pages/" + url.PathEscape(v.r.PathValue("page")) + "/" + kind + "/" + id
	}
}

// redirectToComponents leads back to the part of the list where the form was.
func (v *visit) redirectToComponents(query url.Values) error {
	if query == nil {
		query = url.Values{}
	}
	if p := v.r.PostForm.Get("p"); p != "" {
		query.Set("p", p)
	}
	path := Path + "/pages/" + url.PathEscape(v.r.PathValue("page")) + "/components"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return v.redirect(path)
}

// setComponentStatus sets the status of a component by hand.
func (v *visit) setComponentStatus() error {
	_, err := v.store.Components().Change(v.r.Context(), v.actor(), v.r.PathValue("page"), v.r.PathValue("component"),
		func(c *statuspage.Component) error {
			c.SetStatus(kernel.Status(v.r.PostForm.Get("status")))
			return nil
		}, kernel.Precondition{})
	if f := newForm(v.r.PostForm); f.refused(err) {
		return v.showComponentsAgain(f, newForm(url.Values{}))
	}
	if err != nil {
		return err
	}
	return v.redirectToComponents(nil)
}

// moveComponent moves a component up or down within its group.
func (v *visit) moveComponent() error {
	return v.move(v.r.PathValue("component"), v.store.MoveComponent)
}

// moveGroup moves a group up or down.
func (v *visit) moveGroup() error { return v.move(v.r.PathValue("group"), v.store.MoveGroup) }

// errBadMove means that a form names no direction.
var errBadMove = errors.New("by must be up or down")

func (v *visit) move(
	ref string, move func(ctx context.Context, actor kernel.Actor, slug, ref string, by int) error,
) error {
	directions := map[string]int{"up": -1, "down": 1}
	direction := v.r.PostForm.Get("by")
	by, ok := directions[direction]
	if !ok {
		return errBadMove
	}
	if err := move(v.r.Context(), v.actor(), v.r.PathValue("page"), ref, by); err != nil {
		return err
	}
	return v.redirectToComponents(url.Values{"moved": {ref}, "by": {direction}})
}

var componentScreens = checkedScreens(objectScreens[statuspage.Component]{
	Resource: resource.Component, objects: (*store.Store).Components,
	list:     func(p statuspage.Page) string { return pagePath(p) + "/components" },
	lines:    [][]string{{"name"}, {"description"}, {"group"}, {"hidden"}, {"slug"}},
	options:  groupOptions,
	deletion: "Its history is lost. Incidents keep their texts. Its monitors remain, without a component.",
})

// groupOptions returns the groups of the page.
func groupOptions(v *visit) (map[string][]option, error) {
	groups, _, err := v.store.Groups().List(v.r.Context(), v.actor(), v.r.PathValue("page"), store.Filter{}, listAll)
	return map[string][]option{"group": optionsOfGroups(groups)}, err
}

func optionsOfGroups(groups []statuspage.Group) (all []option) {
	for _, g := range groups {
		all = append(all, option{Value: g.ID, Label: g.Name})
	}
	return all
}

var groupScreens = checkedScreens(objectScreens[statuspage.Group]{
	Resource: resource.Group, objects: (*store.Store).Groups,
	list:     func(p statuspage.Page) string { return pagePath(p) + "/components" },
	lines:    [][]string{{"name"}, {"slug"}},
	deletion: "Its components stay, in no group.",
})
