package api

import (
	"math"
	"strconv"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// warningRoutes are the routes of warnings.
var warningRoutes = []route{
	{"GET", "/api/v1/monitors/{monitorId}/warnings", rights.MonitorRead, (*api).listWarnings, operation{
		id:      "listWarnings",
		summary: "List the warnings of a monitor, newest first.",
		text:    "The last 100 of 90 days. Send `next_cursor` as `cursor`, with the same condition, for the older ones.",
		query: []parameter{
			{name: "condition", schema: ref("Condition"), text: "Only warnings of this condition."},
		},
		returns: part("Warning", "list", "^[1-9][0-9]*$"),
	}},
}

// conditionsJSON is the part of a monitor that has the conditions on its runs, except for max_runtime.
type conditionsJSON struct {
	MinRuntime           *int64                    `json:"min_runtime"`      // seconds; null: none
	MaxPerInterval       *int                      `json:"max_per_interval"` // null: none
	NoOverlap            *bool                     `json:"no_overlap"`       // this and what follows is null of a check
	MaxRuntimeAction     *allswell.ConditionAction `json:"max_runtime_action"`
	MinRuntimeAction     *allswell.ConditionAction `json:"min_runtime_action"`
	MaxPerIntervalAction *allswell.ConditionAction `json:"max_per_interval_action"`
	NoOverlapAction      *allswell.ConditionAction `json:"no_overlap_action"`
}

func newConditionsJSON(r allswell.RunConditions) conditionsJSON {
	r = r.WithDefaults()
	return conditionsJSON{
		MinRuntime: ptrOrNil(int64(r.MinRuntime / time.Second)), MaxPerInterval: ptrOrNil(r.MaxPerInterval), NoOverlap: &r.NoOverlap,
		MaxRuntimeAction: &r.MaxRuntimeAction, MinRuntimeAction: &r.MinRuntimeAction,
		MaxPerIntervalAction: &r.MaxPerIntervalAction, NoOverlapAction: &r.NoOverlapAction,
	}
}

// readConditions reads the conditions on runs; null is the default of each.
func readConditions(o *jsonobject.Object) func(*allswell.RunConditions) {
	action := func(key string) *allswell.ConditionAction {
		if o.Null(key) {
			return new(allswell.ConditionAction)
		}
		return jsonobject.Enum(o, key, allswell.ConditionActions)
	}
	minRuntime, noOverlap, maxPerInterval := readRuntime(o, "min_runtime"), o.Flag("no_overlap"), new(int)
	if !o.Null("max_per_interval") {
		maxPerInterval = refuseZero(o, o.Integer("max_per_interval"), allswell.CheckMaxPerInterval)
	}
	tooLong, tooShort, tooOften, overlap := action("max_runtime_action"), action("min_runtime_action"), action("max_per_interval_action"), action("no_overlap_action")
	return func(r *allswell.RunConditions) {
		set(&r.MinRuntime, minRuntime)
		set(&r.MaxPerInterval, maxPerInterval)
		set(&r.NoOverlap, noOverlap)
		set(&r.MaxRuntimeAction, tooLong)
		set(&r.MinRuntimeAction, tooShort)
		set(&r.MaxPerIntervalAction, tooOften)
		set(&r.NoOverlapAction, overlap)
	}
}

type warningJSON struct {
	ID        string             `json:"id"`
	Condition allswell.Condition `json:"condition"`
	Message   string             `json:"message"`
	RunID     *string            `json:"run_id"`
	WarnedAt  string             `json:"warned_at"`
	EndedAt   *string            `json:"ended_at"`
}

func newWarningJSON(w allswell.Warning) warningJSON {
	return warningJSON{w.ID, w.Condition, w.Message, ptrOrNil(w.RunID), allswell.FormatTime(w.WarnedAt), timePtr(w.EndedAt)}
}

// listWarnings lists the warnings of a monitor, newest first. The cursor is the number of the last one that the caller has
// read.
func (a *api) listWarnings(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := store.WarningFilter{
		Condition: web.Choice(q, "condition", allswell.WarningConditions),
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
