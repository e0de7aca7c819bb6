package api

import (
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

var groupRoutes = resourceActions[statuspage.Group]{
	Resource: resource.Group, objects: (*store.Store).Groups, id: "groupId", reading: rights.GroupRead,
	changing: rights.GroupChange, deletion: "Its components stay, without a group.", query: []parameter{pageOfSlug},
}.routes(
	operation{summary: "List the groups of a page.", query: bySlugOrName},
	operation{summary: "Create a group of components.", text: "A page can have 100 groups. One more is 422 on `name`."})
