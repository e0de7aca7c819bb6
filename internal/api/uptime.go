package api

import (
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// uptimeDecimals is how exactly an uptime is given, in percent.
const uptimeDecimals = 3

// getUptime takes ?days=, from 1 to allswell.HistoryDays.
func (a *api) getUptime(c *call) (store.StoredResponse, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	days := q.Integer("days", allswell.HistoryDays, 1, allswell.HistoryDays)
	if err := q.Check(); err != nil {
		return store.StoredResponse{}, err
	}
	summary, err := a.store.Summary(c.Context(), c.actor(), c.PathValue("pageSlug"))
	return show(summary, err, func(s allswell.Summary) uptimeJSON { return presentUptime(s, days) })
}

type uptimeJSON struct {
	Days       int                   `json:"days"`
	TimeZone   string                `json:"time_zone"` // days begin by it
	Uptime     *float64              `json:"uptime"`    // percent; null: nothing is known
	Components []componentUptimeJSON `json:"components"`
	Groups     []groupUptimeJSON     `json:"groups"`
}

type componentUptimeJSON struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Group   *string         `json:"group"`
	Status  allswell.Status `json:"status"`
	Uptime  *float64        `json:"uptime"`
	History []dayJSON       `json:"history"` // oldest first
}

type groupUptimeJSON struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Uptime *float64 `json:"uptime"`
}

type dayJSON struct {
	Date    string                      `json:"date"`
	Status  *allswell.Status            `json:"status"` // the worst; null: it was not there yet
	Uptime  *float64                    `json:"uptime"`
	Seconds map[allswell.Status]float64 `json:"seconds"` // in each status
}

func presentUptime(s allswell.Summary, days int) uptimeJSON {
	out := uptimeJSON{
		Days: days, TimeZone: s.Page.TimeZone, Uptime: percent(s.History.Last(days)),
		Components: []componentUptimeJSON{}, Groups: []groupUptimeJSON{},
	}
	for _, b := range s.Blocks {
		if b.Group.ID != "" {
			out.Groups = append(out.Groups, groupUptimeJSON{b.Group.ID, b.Group.Name, percent(b.History.Last(days))})
		}
		for _, c := range b.Components {
			record := s.Histories[c.ID]
			out.Components = append(out.Components, componentUptimeJSON{
				ID: c.ID, Name: c.Name, Group: unlessZero(c.GroupID), Status: c.Status(),
				Uptime: percent(record.Last(days)), History: presentDays(record[max(0, len(record)-days):]),
			})
		}
	}
	return out
}

func presentDays(record allswell.History) []dayJSON {
	out := make([]dayJSON, len(record))
	for i, d := range record {
		out[i] = dayJSON{
			Date: d.Date.Format(time.DateOnly), Status: unlessZero(d.Worst()), Uptime: percent(d.StatusDurations),
			Seconds: secondsOf(d.StatusDurations),
		}
	}
	return out
}

// secondsOf returns the seconds in each status.
func secondsOf(d allswell.StatusDurations) map[allswell.Status]float64 {
	seconds := make(map[allswell.Status]float64, len(allswell.RankedStatuses))
	for _, s := range allswell.RankedStatuses {
		seconds[s] = d.In(s).Seconds()
	}
	return seconds
}

// percent returns an uptime, or nil if nothing is known.
func percent(t allswell.StatusDurations) *float64 {
	share, ok := t.Uptime()
	if !ok {
		return nil
	}
	p := allswell.UptimePercent(share, uptimeDecimals)
	return &p
}
