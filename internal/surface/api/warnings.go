package api

import (
	"math"
	"strconv"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var warningRoutes = []route{
	{"GET", "/api/v1/monitors/{monitorId}/warnings", rights.MonitorRead, (*api).listWarnings, operation{
		id:      "listWarnings",
		summary: "List the warnings of a monitor, newest first.",
		text: "The last 100 of 90 days. Send `next_cursor` as `cursor`, with the same condition, for the older " +
			"ones.",
		query: []parameter{
			{name: "condition", schema: ref("Condition"), text: "Only warnings of this condition."},
		},
		returns: part("Warning", "list", "^[1-9][0-9]*$"),
	}},
}

type warningJSON struct {
	ID        string            `json:"id"`
	Condition monitor.Condition `json:"condition"`
	Message   string            `json:"message"`
	RunID     *string           `json:"run_id"`
	WarnedAt  string            `json:"warned_at"`
	EndedAt   *string           `json:"ended_at"`
}

func newWarningJSON(w monitor.Warning) warningJSON {
	return warningJSON{
		w.ID, w.Condition, w.Message, optional.Ptr(w.RunID), kernel.FormatTime(w.WarnedAt), timePtr(w.EndedAt),
	}
}

// listWarnings lists the warnings of a monitor, newest first. The cursor is the number of the last warning that the
// caller has read.
func (a *api) listWarnings(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := store.WarningFilter{
		Condition: web.Choice(q, "condition", monitor.WarningConditions),
		Before:    int64(q.Integer("cursor", 0, 1, math.MaxInt32)),
	}
	limit := q.Integer("limit", defaultPerPage, 1, maxPerPage)
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	warnings, more, err := a.store.Warnings(c.Context(), c.actor(), c.PathValue("monitorId"), f, limit)
	if err != nil {
		return store.Response{}, err
	}
	next := ""
	if more {
		next = strconv.FormatInt(warnings[len(warnings)-1].Number, 10)
	}
	return cursorResponse(warnings, newWarningJSON, next)
}
