package statuspages

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
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// componentsScreen is the data of the template page_components.
type componentsScreen struct {
	frame.PageHead
	Order        string // statuspage.OrderTag of the groups and components
	Blocks       []componentBlock
	Pager        frame.Pager
	P            string // parameter of the pager for the current part of the list
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
	Statuses []frame.Option
	Focus    string // the button of the row that was used: "up" or "down"
}

// newObject is a form that adds something to a list.
type newObject struct {
	*frame.Form
	Fields []frame.Field
}

// showComponents lists the components of a page by their groups.
func (r *request) showComponents() error {
	s, err := r.newComponentsScreen(frame.NewForm(url.Values{}), frame.NewForm(url.Values{}))
	if err != nil {
		return err
	}
	return r.Show(http.StatusOK, "page_components", s.Page.Name+": components", s)
}

// newComponentsScreen loads the list, with the forms that add a component and a group.
func (r *request) newComponentsScreen(component, group *frame.Form) (s componentsScreen, err error) {
	if s.PageHead, err = r.PageHead(); err != nil {
		return s, err
	}
	groups, _, err := r.Store.Groups().List(r.Context(), r.Actor(), s.Page.Slug, store.Filter{}, frame.ListAll)
	if err != nil {
		return s, err
	}
	components, _, err := r.Store.Components().List(r.Context(), r.Actor(), s.Page.Slug, store.Filter{}, frame.ListAll)
	if err != nil {
		return s, err
	}
	query := r.URL.Query()
	s.P = query.Get("p")
	s.Order = statuspage.OrderTag(groups, components)
	s.arrange(append([]statuspage.Group{{}}, groups...), components, query)
	s.NewComponent = newObject{component, []frame.Field{
		component.Draw(frame.Field{Name: "name", Label: "Name", Placeholder: "Website"}),
		component.Draw(groupField(groups)),
	}}
	s.NewGroup = newObject{group, []frame.Field{group.Draw(frame.Field{
		Name: "name", ID: "group-name", Label: "Name", Placeholder: "Europe",
	})}}
	return s, nil
}

// arrange sets the blocks, and the pager if there are more components than a screen shows. Groups without components
// are on the last screen. A page with groups also has a block for components without a group.
func (s *componentsScreen) arrange(groups []statuspage.Group, components []statuspage.Component, query url.Values) {
	at := func(groupID string) int {
		return slices.IndexFunc(groups, func(g statuspage.Group) bool { return g.ID == groupID })
	}
	slices.SortStableFunc(components, func(a, b statuspage.Component) int {
		return cmp.Compare(at(a.GroupID), at(b.GroupID))
	})
	r := frame.Pagination(query)
	from := min((r.Page-1)*r.PerPage, len(components))
	to := min(from+r.PerPage, len(components))
	s.Pager = frame.NewPager(frame.PagePath(s.Page)+"/components", url.Values{}, r, to-from, len(components))
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
func statusOptions(now kernel.Status) (options []frame.Option) {
	for _, status := range kernel.Statuses {
		if status.Canonical() == status {
			options = append(options, frame.Option{
				Value: string(status), Label: status.Label(), Selected: status == now.Canonical(),
			})
		}
	}
	return options
}

func groupField(groups []statuspage.Group) frame.Field {
	return frame.Field{
		Name: "group", Label: "Group", Type: "select",
		Options: append([]frame.Option{{Label: "none"}}, optionsOfGroups(groups)...),
	}
}

// showComponentsAgain shows the list with a refused form.
func (r *request) showComponentsAgain(component, group *frame.Form) error {
	s, err := r.newComponentsScreen(component, group)
	if err != nil {
		return err
	}
	return r.Show(http.StatusUnprocessableEntity, "page_components", s.Page.Name+": components", s)
}

// createComponent adds a component to a page.
func (r *request) createComponent() error {
	f := frame.NewForm(r.PostForm)
	_, err := r.Store.Components().UniqueNames(!f.AllowsSameName()).Create(r.Context(), r.Actor(), r.PathValue("page"),
		resource.Component.ReadForm(statuspage.Component{}, f.Values, time.UTC, r.Now()))
	if f.Refused(err) {
		f.OfferSameName("component", r.onThisPage("components"))
		return r.showComponentsAgain(f, frame.NewForm(url.Values{}))
	}
	if err != nil {
		return err
	}
	return r.redirectToComponents(nil)
}

// createGroup adds a group to a page.
func (r *request) createGroup() error {
	f := frame.NewForm(r.PostForm)
	_, err := r.Store.Groups().UniqueNames(!f.AllowsSameName()).Create(r.Context(), r.Actor(), r.PathValue("page"),
		resource.Group.ReadForm(statuspage.Group{}, f.Values, time.UTC, r.Now()))
	if f.Refused(err) {
		f.OfferSameName("group", r.onThisPage("groups"))
		return r.showComponentsAgain(frame.NewForm(url.Values{}), f)
	}
	if err != nil {
		return err
	}
	return r.redirectToComponents(nil)
}

// onThisPage returns a function that returns the path of a component or a group by its id.
func (r *request) onThisPage(kind string) func(id string) string {
	return func(id string) string {
		return frame.Path + "/pages/" + url.PathEscape(r.PathValue("page")) + "/" + kind + "/" + id
	}
}

// redirectToComponents redirects to the part of the list that had the form.
func (r *request) redirectToComponents(query url.Values) error {
	if query == nil {
		query = url.Values{}
	}
	if p := r.PostForm.Get("p"); p != "" {
		query.Set("p", p)
	}
	path := frame.Path + "/pages/" + url.PathEscape(r.PathValue("page")) + "/components"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return r.Redirect(path)
}

// setComponentStatus sets the status of a component by hand.
func (r *request) setComponentStatus() error {
	_, err := r.Store.Components().Change(r.Context(), r.Actor(), r.PathValue("page"), r.PathValue("component"),
		func(c *statuspage.Component) error {
			c.SetStatus(kernel.Status(r.PostForm.Get("status")))
			return nil
		}, kernel.Precondition{})
	if f := frame.NewForm(r.PostForm); f.Refused(err) {
		return r.showComponentsAgain(f, frame.NewForm(url.Values{}))
	}
	if err != nil {
		return err
	}
	return r.redirectToComponents(nil)
}

// moveComponent moves a component up or down within its group.
func (r *request) moveComponent() error {
	return r.move(r.PathValue("component"), r.Store.MoveComponent)
}

// moveGroup moves a group up or down.
func (r *request) moveGroup() error { return r.move(r.PathValue("group"), r.Store.MoveGroup) }

// errBadMove means that a form names no direction.
var errBadMove = errors.New("by must be up or down")

func (r *request) move(
	ref string, move func(ctx context.Context, actor kernel.Actor, slug, ref string, by int) error,
) error {
	directions := map[string]int{"up": -1, "down": 1}
	direction := r.PostForm.Get("by")
	by, ok := directions[direction]
	if !ok {
		return errBadMove
	}
	if err := move(r.Context(), r.Actor(), r.PathValue("page"), ref, by); err != nil {
		return err
	}
	return r.redirectToComponents(url.Values{"moved": {ref}, "by": {direction}})
}

var componentScreens = checkedScreens(objectScreens[statuspage.Component]{
	Resource: resource.Component, objects: (*store.Store).Components,
	list:     func(p statuspage.Page) string { return frame.PagePath(p) + "/components" },
	lines:    [][]string{{"name"}, {"description"}, {"group"}, {"hidden"}, {"slug"}},
	options:  groupOptions,
	deletion: "Its history is lost. Incidents keep their texts. Its monitors remain, without a component.",
})

// groupOptions returns the groups of the page.
func groupOptions(r *request) (map[string][]frame.Option, error) {
	groups, _, err := r.Store.Groups().List(r.Context(), r.Actor(), r.PathValue("page"), store.Filter{}, frame.ListAll)
	return map[string][]frame.Option{"group": optionsOfGroups(groups)}, err
}

func optionsOfGroups(groups []statuspage.Group) (all []frame.Option) {
	for _, g := range groups {
		all = append(all, frame.Option{Value: g.ID, Label: g.Name})
	}
	return all
}

var groupScreens = checkedScreens(objectScreens[statuspage.Group]{
	Resource: resource.Group, objects: (*store.Store).Groups,
	list:  func(p statuspage.Page) string { return frame.PagePath(p) + "/components" },
	lines: [][]string{{"name"}, {"slug"}}, deletion: "Its components stay, in no group.",
})
