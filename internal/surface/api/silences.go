package api

import (
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var silenceActions = resourceActions[alert.Silence]{
	Resource: resource.Silence, objects: (*store.Store).Silences, id: "silenceId", reading: rights.SilenceRead,
	changing: rights.SilenceChange,
}

var silenceRoutes = append(silenceActions.routes(
	operation{},
	operation{
		summary: "Create a silence. It holds alerts back; alerts that are still open at its end are sent then.",
		text: "An empty list does not limit the silence; otherwise one of the values must match. A workspace can " +
			"have 500 silences that have not ended.",
	}), []route{
	{"GET", "/api/v1/silences", rights.SilenceRead, (*api).listSilences, operation{
		id:      "listSilences",
		summary: "List the silences that have not ended, in the order of their ends.",
		query: []parameter{
			{name: "ended", schema: yesOrNo,
				text: "With true, also list silences that have ended in the last 90 days."},
		},
		returns: list("Silence"),
	}},
	{"DELETE", "/api/v1/silences/{silenceId}", rights.SilenceChange, silenceActions.delete, operation{
		id:      "endSilence",
		summary: "End a silence now.",
		text:    "It is kept for 90 days.",
	}},
}...)

// listSilences lists silences that have not ended; with ?ended=true, all that are kept.
func (a *api) listSilences(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	var f store.Filter
	if ended := q.Flag("ended"); !optional.Value(ended) {
		now, err := a.store.Clock(c.Context())
		if err != nil {
			return store.Response{}, err
		}
		f.EndsAfter = now
	}
	return servePage(q, resource.Silence.JSON, func(r store.Pagination) ([]alert.Silence, int, error) {
		return a.store.Silences().List(c.Context(), c.actor(), "", f, r)
	})
}
