package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

func TestMoveComponent(t *testing.T) {
	inWorlds(t, func(w *world) {
		g := must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{Name: "g"})))(w)
		for _, name := range []string{"a", "b", "c"} { // all with the same order: their age decides
			must(w.Components().Create(w.ctx, w.ws, "acme", resource.Component.From(statuspage.Component{
				Name: name, Slug: name, Order: 5, GroupID: g.ID,
			})))(w)
			w.clock.move(time.Second)
		}
		other := must(w.Components().Create(w.ctx, w.ws, "acme",
			resource.Component.From(statuspage.Component{Name: "other", Order: 5})))(w)
		inGroup := func() (names []string) {
			all, _, err := w.Components().List(w.ctx, w.ws, "acme", store.Filter{}, firstHundred)
			w.ok(err)
			for _, c := range all {
				if c.GroupID == g.ID {
					names = append(names, c.Name)
				}
			}
			return names
		}
		for _, move := range []struct {
			ref  string
			by   int
			want []string
		}{
			{"a", -1, []string{"a", "b", "c"}},
			{"c", 1, []string{"a", "b", "c"}},
			{"b", -1, []string{"b", "a", "c"}},
			{"b", 1, []string{"a", "b", "c"}},
			{"c", -1, []string{"a", "c", "b"}},
		} {
			before, entries := inGroup(), w.value(`SELECT count(*) FROM audit_entries`)
			w.ok(w.MoveComponent(w.ctx, w.ws, "acme", move.ref, move.by))
			if got := inGroup(); !slices.Equal(got, move.want) {
				w.Errorf("after moving %s by %d: %v, want %v", move.ref, move.by, got, move.want)
			}
			want := "1"
			if slices.Equal(before, move.want) {
				want = "0"
			}
			if got := w.value(`SELECT count(*) - ` + entries + ` FROM audit_entries`); got != want {
				w.Errorf("moving %s by %d: %s audit entries, want %s", move.ref, move.by, got, want)
			}
		}
		if c := must(w.Components().Get(w.ctx, w.ws, "acme", other.ID))(w); c.Order != 5 {
			w.Errorf("a component of another group got the order %d", c.Order)
		}
	})
}

func TestMoveGroup(t *testing.T) {
	inWorlds(t, func(w *world) {
		for _, name := range []string{"a", "b"} {
			must(w.Groups().Create(w.ctx, w.ws, "acme", resource.Group.From(statuspage.Group{
				Name: name, Slug: name, Order: statuspage.MaxOrder,
			})))(w)
			w.clock.move(time.Second)
		}
		w.ok(w.MoveGroup(w.ctx, w.ws, "acme", "b", -1))
		w.ok(w.MoveGroup(w.ctx, w.ws, "acme", "b", -1))
		groups, _, err := w.Groups().List(w.ctx, w.ws, "acme", store.Filter{}, firstHundred)
		w.ok(err)
		if groups[0].Name != "b" || groups[1].Name != "a" || groups[1].Order > statuspage.MaxOrder {
			w.Errorf("the groups are %+v", groups)
		}
	})
}
