package statuspages_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/dashboard/statuspages"
)

func TestPlaceOnPage(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		v := s.Owner()
		for _, page := range []string{"acme", "other"} {
			v.Post("/admin/pages", "name", page, "slug", page)
			for _, name := range []string{"Europe", "Asia"} {
				v.Post("/admin/pages/"+page+"/groups", "name", name)
			}
			for _, name := range []string{"API", "Mail"} {
				v.Post("/admin/pages/"+page+"/components", "name", name)
			}
		}
		load := func(page string) ([]statuspage.Group, []statuspage.Component) {
			groups, _, err := s.Store.Groups().List(s.Context(), v.Actor(), page, store.Filter{}, frame.ListAll)
			if err != nil {
				s.Fatal(err)
			}
			components, _, err := s.Store.Components().List(s.Context(), v.Actor(), page, store.Filter{}, frame.ListAll)
			if err != nil {
				s.Fatal(err)
			}
			return groups, components
		}
		groups, components := load("acme")
		otherGroups, otherComponents := load("other")
		seen := statuspage.OrderTag(groups, components)
		const path = "/admin/pages/acme"
		api, europe := path+"/components/"+components[0].ID+"/place", path+"/groups/"+groups[0].ID+"/place"
		v.Wants(v.Get(path+"/components"), http.StatusOK, `data-order="`+seen+`"`, api, europe,
			"No components. Visitors do not see the group.")

		v.Wants(v.Post(api, "group", otherGroups[0].ID, "order", seen), http.StatusUnprocessableEntity,
			"does not exist on this page")
		v.Wants(v.Post(api, "before", otherComponents[0].ID, "order", seen), http.StatusUnprocessableEntity,
			"must be an object in the same")
		v.Wants(v.Post(path+"/components/"+otherComponents[0].ID+"/place", "order", seen), http.StatusNotFound)
		v.Wants(v.Post(path+"/groups/"+otherGroups[0].ID+"/place", "order", seen), http.StatusNotFound)
		if g, c := load("acme"); statuspage.OrderTag(g, c) != seen {
			s.Errorf("refused moves changed the order to %+v, %+v", g, c)
		}

		moved := v.Wants(v.Post(api, "group", groups[1].ID, "order", seen), http.StatusNoContent)
		g, c := load("acme")
		now := statuspage.OrderTag(g, c)
		if moved.Header.Get(statuspages.OrderHeader) != now || c[0].GroupID+c[1].GroupID != groups[1].ID {
			s.Errorf("the order %s (header %s) is %+v", now, moved.Header.Get(statuspages.OrderHeader), c)
		}
		v.Wants(v.Post(europe, "after", groups[1].ID, "order", seen), http.StatusConflict, "Nothing was moved",
			"Someone else has changed the order")
		v.Wants(v.Post(europe, "after", groups[1].ID, "order", moved.Header.Get(statuspages.OrderHeader)),
			http.StatusNoContent)
		if body := v.Get(path + "/components").Text; strings.Index(body, ">Asia<") > strings.Index(body, ">Europe<") {
			s.Error("the group has not moved")
		}
	})
}
