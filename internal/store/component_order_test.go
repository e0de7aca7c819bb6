package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// orderedPage is the page acme with the components a, b and c in the group g, and d in no group, of the same order
// each.
type orderedPage struct {
	*world
	ids map[string]string
}

func (w *world) orderedPage() orderedPage {
	o := orderedPage{w, map[string]string{"": ""}}
	for _, name := range []string{"g", "h"} {
		o.ids[name] = must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{
			Name: name, Slug: name, Order: 5,
		})))(w).ID
		w.clock.move(time.Second)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		n := statuspage.Component{Name: name, Slug: name, Order: 5, GroupID: o.ids["g"]}
		if name == "d" {
			n.GroupID = ""
		}
		o.ids[name] = must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(n)))(w).ID
		w.clock.move(time.Second)
	}
	return o
}

// now returns the order in the form "h: · g: a b c · : d", with no group last, and its tag.
func (o orderedPage) now() (order, tag string) {
	groups, _, err := o.Groups().List(o.ctx, o.ws, "acme", store.Filter{}, firstHundred)
	o.ok(err)
	components, _, err := o.Components().List(o.ctx, o.ws, "acme", store.Filter{}, firstHundred)
	o.ok(err)
	var blocks []string
	for _, g := range append(groups[:len(groups):len(groups)], statuspage.Group{}) {
		block := g.Name + ":"
		for _, c := range components {
			if c.GroupID == g.ID && o.ids[c.Name] != "" {
				block += " " + c.Name
			}
		}
		blocks = append(blocks, block)
	}
	return strings.Join(blocks, " · "), statuspage.OrderTag(groups, components)
}

func (o orderedPage) auditEntries() string { return o.value(`SELECT count(*) FROM audit_entries`) }

func TestPlace(t *testing.T) {
	inWorlds(t, func(w *world) {
		o := w.orderedPage()
		for _, c := range []struct{ moved, group, before, after, want string }{
			{"c", "g", "a", "", "g: c a b · h: · : d"},
			{"c", "g", "", "a", "g: a c b · h: · : d"},
			{"c", "g", "", "", "g: a b c · h: · : d"},
			{"a", "h", "", "", "g: b c · h: a · : d"},
			{"d", "g", "c", "", "g: b d c · h: a · :"},
			{"b", "", "", "", "g: d c · h: a · : b"},
			{"h", "", "g", "", "h: a · g: d c · : b"},
			{"h", "", "", "g", "g: d c · h: a · : b"},
		} {
			_, tag := o.now()
			entries := o.auditEntries()
			to := statuspage.Place{GroupID: o.ids[c.group], Before: o.ids[c.before], After: o.ids[c.after], Order: tag}
			place := w.PlaceComponent
			if c.moved == "h" {
				place = w.PlaceGroup
			}
			got := must(place(w.ctx, w.ws, "acme", o.ids[c.moved], to))(w)
			if order, tag := o.now(); order != c.want || got != tag {
				w.Errorf("after %+v: %s, tag %s; want %s, tag %s", c, order, got, c.want, tag)
			}
			now := o.auditEntries()
			if now == entries || w.value(`SELECT count(*) - `+entries+` FROM audit_entries`) != "1" {
				w.Errorf("after %+v: %s audit entries, before %s", c, now, entries)
			}
		}
	})
}

func TestPlaceRefused(t *testing.T) {
	inWorlds(t, func(w *world) {
		o := w.orderedPage()
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		group := must(w.Groups().Create(w.ctx, w.ws, "other", resource.Group.From(statuspage.Group{Name: "g"})))(w).ID
		component := must(w.Components().Create(w.ctx, w.ws, "other",
			resource.Component.From(statuspage.Component{Name: "x"})))(w).ID
		_, tag := o.now()
		must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(statuspage.Component{Name: "new"})))(w)
		_, newTag := o.now()
		before := w.dump()
		for name, c := range map[string]struct {
			place func() (string, error)
			want  func(error) bool
		}{
			"another page's component": {func() (string, error) {
				return w.PlaceComponent(w.ctx, w.ws, "acme", component, statuspage.Place{Order: newTag})
			}, isNotFound},
			"another page's group": {func() (string, error) {
				return w.PlaceGroup(w.ctx, w.ws, "acme", group, statuspage.Place{Order: newTag})
			}, isNotFound},
			"into another page's group": {func() (string, error) {
				return w.PlaceComponent(w.ctx, w.ws, "acme", "a", statuspage.Place{GroupID: group, Order: newTag})
			}, isInvalid("group")},
			"before another page's component": {func() (string, error) {
				return w.PlaceComponent(w.ctx, w.ws, "acme", "a", statuspage.Place{Before: component, Order: newTag})
			}, isInvalid("before")},
			"after another page's group": {func() (string, error) {
				return w.PlaceGroup(w.ctx, w.ws, "acme", "g", statuspage.Place{After: group, Order: newTag})
			}, isInvalid("after")},
			"after itself": {func() (string, error) {
				return w.PlaceGroup(w.ctx, w.ws, "acme", "g", statuspage.Place{After: o.ids["g"], Order: newTag})
			}, isInvalid("after")},
			"a component after a change": {func() (string, error) {
				return w.PlaceComponent(w.ctx, w.ws, "acme", "a", statuspage.Place{Order: tag})
			}, isStale},
			"a group after a change": {func() (string, error) {
				return w.PlaceGroup(w.ctx, w.ws, "acme", "g", statuspage.Place{Order: tag})
			}, isStale},
		} {
			if _, err := c.place(); !c.want(err) {
				w.Errorf("%s: %v", name, err)
			}
		}
		if w.dump() != before {
			w.Error("something was changed")
		}
	})
}

func isNotFound(err error) bool { return errors.Is(err, kernel.ErrNotFound) }

func isStale(err error) bool { return errors.Is(err, kernel.ErrPreconditionFailed) }

func isInvalid(field string) func(error) bool {
	return func(err error) bool { return isNotFound(refused(err, field)) }
}

// TestPlaceAtTheLimits: where no order is left between the limits, the orders begin anew.
func TestPlaceAtTheLimits(t *testing.T) {
	inWorlds(t, func(w *world) {
		o := w.orderedPage()
		for _, c := range []struct {
			order         int
			before, after string
			want          string
		}{
			{statuspage.MaxOrder, "", "g", "g: a b c · h: · : d"},
			{-statuspage.MaxOrder, "g", "", "h: · g: a b c · : d"},
		} {
			must(w.Groups().Change(w.ctx, w.ws, "acme", "g", func(g *statuspage.Group) error {
				g.Order = c.order
				return nil
			}, kernel.Precondition{}))(w)
			_, tag := o.now()
			must(w.PlaceGroup(w.ctx, w.ws, "acme", "h", statuspage.Place{
				Before: o.ids[c.before], After: o.ids[c.after], Order: tag,
			}))(w)
			if order, _ := o.now(); order != c.want {
				w.Errorf("at the order %d: %s, want %s", c.order, order, c.want)
			}
		}
	})
}
