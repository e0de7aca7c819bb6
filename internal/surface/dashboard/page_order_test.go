package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

func TestPlaceOnPage(t *testing.T) {
	onEachEngine(t, func(s *site) {
		v := s.owner()
		for _, page := range []string{"acme", "other"} {
			v.post("/admin/pages", "name", page, "slug", page)
			for _, name := range []string{"Europe", "Asia"} {
				v.post("/admin/pages/"+page+"/groups", "name", name)
			}
			for _, name := range []string{"API", "Mail"} {
				v.post("/admin/pages/"+page+"/components", "name", name)
			}
		}
		load := func(page string) ([]statuspage.Group, []statuspage.Component) {
			groups, _, err := s.store.Groups().List(s.Context(), v.actor(), page, store.Filter{}, listAll)
			if err != nil {
				s.Fatal(err)
			}
			components, _, err := s.store.Components().List(s.Context(), v.actor(), page, store.Filter{}, listAll)
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
		v.wants(v.get(path+"/components"), http.StatusOK, `data-order="`+seen+`"`, api, europe,
			"No components. Visitors do not see the group.")

		v.wants(v.post(api, "group", otherGroups[0].ID, "order", seen), http.StatusUnprocessableEntity,
			"does not exist on this page")
		v.wants(v.post(api, "before", otherComponents[0].ID, "order", seen), http.StatusUnprocessableEntity,
			"must be an object in the same")
		v.wants(v.post(path+"/components/"+otherComponents[0].ID+"/place", "order", seen), http.StatusNotFound)
		v.wants(v.post(path+"/groups/"+otherGroups[0].ID+"/place", "order", seen), http.StatusNotFound)
		if g, c := load("acme"); statuspage.OrderTag(g, c) != seen {
			s.Errorf("refused moves changed the order to %+v, %+v", g, c)
		}

		moved := v.wants(v.post(api, "group", groups[1].ID, "order", seen), http.StatusNoContent)
		g, c := load("acme")
		if now := statuspage.OrderTag(g, c); moved.Header.Get(orderHeader) != now ||
			c[0].GroupID+c[1].GroupID != groups[1].ID {
			s.Errorf("the order %s (header %s) is %+v", now, moved.Header.Get(orderHeader), c)
		}
		v.wants(v.post(europe, "after", groups[1].ID, "order", seen), http.StatusConflict, "Nothing was moved",
			"Somebody else has changed the order")
		v.wants(v.post(europe, "after", groups[1].ID, "order", moved.Header.Get(orderHeader)), http.StatusNoContent)
		if body := v.get(path + "/components").body; strings.Index(body, ">Asia<") > strings.Index(body, ">Europe<") {
			s.Error("the group has not moved")
		}
	})
}
