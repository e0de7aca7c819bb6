package api

import (
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

var onCallActions = resourceActions[alert.OnCall]{
	Resource: resource.OnCall, objects: (*store.Store).OnCallSchedules, id: "onCallId",
	reading: rights.OnCallRead, changing: rights.OnCallChange,
	complete: func(a *api, c *call, o *alert.OnCall) { o.Show(a.now(), c.base) },
	deletion: "If a rule needs it, that is 422.",
}

var onCallRoutes = onCallActions.routes(
	operation{id: "listOnCall", summary: "List the on-call schedules, the oldest first."},
	operation{
		summary: "Create an on-call schedule.",
		text: "Every week, at the same time of the clock, the next participant takes over. A workspace can have 50 " +
			"schedules.",
	},
)
