package api

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var uptimeRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/uptime", rights.PageRead, (*api).getUptime, operation{
		id:      "getUptime",
		summary: "Get the uptime of a page, its components and groups, with a daily history.",
		text: "A major outage counts as downtime fully, a partial outage with weight 0.3, degraded performance and " +
			"maintenance not at all. Time in which the service could not listen is unknown and not counted. Days " +
			"are in the page's time zone; the last one is today, up to now.",
		query: []parameter{
			{name: "days", schema: wholeNumber{1, 90, 90}, text: "Number of days, including today."},
			{
				name: "hidden", schema: yesOrNo,
				text: "Whether hidden components are listed, too, after all others. They have no uptime and no " +
					"history here.",
			},
		},
		returns: one("Uptime", "The uptime, in percent."),
	}},
}

// uptimeDecimals is the number of decimals of an uptime in percent.
const uptimeDecimals = 3

// getUptime reads ?days, from 1 to statuspage.HistoryDays, and ?hidden.
func (a *api) getUptime(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	days := q.Integer("days", statuspage.HistoryDays, 1, statuspage.HistoryDays)
	withHidden := optional.Value(q.Flag("hidden"))
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	summary, err := a.store.Summary(c.Context(), c.actor(), c.PathValue("pageSlug"))
	var hidden []statuspage.Component
	if err == nil && withHidden {
		hidden, _, err = a.store.Components().List(c.Context(), c.actor(), c.PathValue("pageSlug"),
			store.Filter{Hidden: &withHidden}, store.Pagination{Page: 1, PerPage: kernel.MaxComponents})
	}
	return resourceResponse(summary, err, func(s statuspage.Summary) uptimeJSON {
		return newUptimeJSON(s, hidden, days)
	})
}

type uptimeJSON struct {
	Days       int                   `json:"days"`
	TimeZone   string                `json:"time_zone"` // of the days
	Uptime     *float64              `json:"uptime"`    // percent; null: unknown
	Components []componentUptimeJSON `json:"components"`
	Groups     []groupUptimeJSON     `json:"groups"`
}

type componentUptimeJSON struct {
	ID      string        `json:"id"`
	Name    string        `json:"name"`
	Slug    string        `json:"slug"`
	Group   *string       `json:"group"`
	Status  kernel.Status `json:"status"`
	Uptime  *float64      `json:"uptime"`
	History []dayJSON     `json:"history"` // oldest first
}

type groupUptimeJSON struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Uptime *float64 `json:"uptime"`
}

type dayJSON struct {
	Date    string                    `json:"date"`
	Status  *kernel.Status            `json:"status"` // the worst of the day; null: the component did not exist
	Uptime  *float64                  `json:"uptime"`
	Seconds map[kernel.Status]float64 `json:"seconds"` // in each status
}

func newUptimeJSON(s statuspage.Summary, hidden []statuspage.Component, days int) uptimeJSON {
	out := uptimeJSON{
		Days: days, TimeZone: s.Page.TimeZone, Uptime: percent(s.History.Last(days)),
		Components: []componentUptimeJSON{}, Groups: []groupUptimeJSON{},
	}
	for _, b := range s.Blocks {
		if b.Group.ID != "" {
			out.Groups = append(out.Groups, groupUptimeJSON{b.Group.ID, b.Group.Name, percent(b.History.Last(days))})
		}
		for _, c := range b.Components {
			history := s.Histories[c.ID]
			shown := newComponentUptimeJSON(c)
			shown.Uptime, shown.History = percent(history.Last(days)), newDaysJSON(history[max(0, len(history)-days):])
			out.Components = append(out.Components, shown)
		}
	}
	for _, c := range hidden {
		out.Components = append(out.Components, newComponentUptimeJSON(c))
	}
	return out
}

// newComponentUptimeJSON returns a component without its uptime and its history.
func newComponentUptimeJSON(c statuspage.Component) componentUptimeJSON {
	return componentUptimeJSON{
		ID: c.ID, Name: c.Name, Slug: c.Slug, Group: optional.Ptr(c.GroupID), Status: c.Status(), History: []dayJSON{},
	}
}

func newDaysJSON(history statuspage.History) []dayJSON {
	out := make([]dayJSON, len(history))
	for i, d := range history {
		out[i] = dayJSON{
			Date: d.Date.Format(time.DateOnly), Status: optional.Ptr(d.Worst()), Uptime: percent(d.StatusDurations),
			Seconds: secondsOf(d.StatusDurations),
		}
	}
	return out
}

// secondsOf returns the seconds in each status.
func secondsOf(d statuspage.StatusDurations) map[kernel.Status]float64 {
	seconds := make(map[kernel.Status]float64, len(kernel.RankedStatuses))
	for _, s := range kernel.RankedStatuses {
		seconds[s] = d.In(s).Seconds()
	}
	return seconds
}

// percent returns an uptime in percent, or nil if it is unknown.
func percent(t statuspage.StatusDurations) *float64 {
	share, ok := t.Uptime()
	if !ok {
		return nil
	}
	p := statuspage.UptimePercent(share, uptimeDecimals)
	return &p
}
