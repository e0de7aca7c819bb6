package statuspage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

// setStatus sets the status of a component by hand.
func setStatus(c *statuspage.Component, status kernel.Status, now time.Time) error {
	return resource.Component.Apply(c, func(c *statuspage.Component) error { c.SetStatus(status); return nil }, now)
}

// page returns components with the given baselines.
func page(statuses ...kernel.Status) []statuspage.Component {
	var out []statuspage.Component
	for _, s := range statuses {
		out = append(out, domaintest.ComponentWith(s))
	}
	return out
}

// statusRow is one row of the table "Component status values".
func statusRow(value kernel.Status, display string) domaintest.Row {
	return domaintest.Row{Name: "status " + string(value) + ", displayed as " + display, Test: func(t *testing.T) {
		if !value.Valid() {
			t.Error("not valid")
		}
		domaintest.Equal(t, "label", value.Label(), display)
		c := domaintest.ComponentWith(kernel.StatusOperational)
		domaintest.CheckFields(t, setStatus(&c, value, domaintest.T1))
		domaintest.Equal(t, "status", c.Status(), value)
	}}
}

var componentRows = []domaintest.Row{
	statusRow("operational", "Operational"),
	statusRow("degraded", "Degraded"),
	statusRow("degraded_performance", "Degraded Performance"),
	statusRow("partial_outage", "Partial Outage"),
	statusRow("major_outage", "Major Outage"),
	statusRow("maintenance", "Under Maintenance"),
	statusRow("unknown", "Unknown"),
	{Name: "the status values are these seven", Test: func(t *testing.T) {
		domaintest.Equal(t, "statuses", kernel.Statuses, []kernel.Status{
			"operational", "degraded", "degraded_performance", "partial_outage", "major_outage", "maintenance",
			"unknown",
		})
	}},
	{
		Name: "Update component status sets the status to the given value when the value is valid",
		Test: func(t *testing.T) {
			for _, from := range kernel.Statuses {
				for _, to := range kernel.Statuses {
					c := domaintest.ComponentWith(from)
					domaintest.CheckFields(t, setStatus(&c, to, domaintest.T1))
					domaintest.Equal(t, string(from)+" to "+string(to), c.Status(), to)
					domaintest.Equal(t, "updated_at moved", c.UpdatedAt.Equal(domaintest.T1), from != to)
				}
			}
		},
	},
	{Name: "Update component status, otherwise the request fails with 422", Test: func(t *testing.T) {
		for _, s := range []kernel.Status{"", "Operational", "down", "operational "} {
			c := domaintest.ComponentWith(kernel.StatusOperational)
			domaintest.CheckFields(t, setStatus(&c, s, domaintest.T1), "status")
		}
	}},
	{
		Name: "Update component status, description sets the text, null removes it, without it the text stays",
		Test: func(t *testing.T) {
			c := domaintest.ComponentWith(kernel.StatusOperational)
			describe := func(text *string, now time.Time) {
				domaintest.CheckFields(t, resource.Component.Apply(&c, func(c *statuspage.Component) error {
					c.Description = text
					return nil
				}, now))
			}
			describe(new("Cards and invoices"), domaintest.T1)
			domaintest.Equal(t, "updated_at", c.UpdatedAt, domaintest.T1)
			describe(new("Cards and invoices"), domaintest.T2)
			domaintest.Equal(t, "updated_at, set to its value", c.UpdatedAt, domaintest.T1)
			domaintest.CheckFields(t, setStatus(&c, kernel.StatusOperational, domaintest.T2))
			domaintest.Equal(t, "omitted", c.Description, new("Cards and invoices"))
			domaintest.Equal(t, "updated_at", c.UpdatedAt, domaintest.T1)
			describe(nil, domaintest.T2)
			domaintest.Equal(t, "updated_at", c.UpdatedAt, domaintest.T2)
		},
	},
	{
		Name: "Page rollup, from most to least severe: major_outage, partial_outage, degraded, maintenance, " +
			"operational",
		Test: func(t *testing.T) {
			order := []kernel.Status{"major_outage", "partial_outage", "degraded", "maintenance", "operational"}
			for i, worst := range order {
				for _, other := range order[i:] {
					domaintest.Equal(t, "rollup", statuspage.Rollup(page(worst, other)), worst)
					domaintest.Equal(t, "rollup, turned", statuspage.Rollup(page(other, worst)), worst)
				}
				for _, better := range order[i+1:] {
					if !worst.Worse(better) || better.Worse(worst) {
						t.Errorf("%s should be worse than %s", worst, better)
					}
				}
			}
		},
	},
	{
		Name: "With some components degraded and none worse, the banner reads that some systems are degraded",
		Test: func(t *testing.T) {
			domaintest.Equal(t, "banner",
				kernel.Banner(statuspage.Rollup(page("operational", "degraded", "maintenance"))),
				"Some systems are degraded")
		},
	},
	{
		Name: "With a component in major_outage, the banner reads that there is a major system outage",
		Test: func(t *testing.T) {
			domaintest.Equal(t, "banner",
				kernel.Banner(statuspage.Rollup(page("operational", "partial_outage", "major_outage"))),
				"Major system outage")
		},
	},
	{Name: "The value unknown is not placed in this order", Test: func(t *testing.T) {
		for _, s := range kernel.Statuses {
			if kernel.StatusUnknown.Worse(s) {
				t.Errorf("unknown is worse than %s", s)
			}
		}
	}},
}

var componentDecisionRows = []domaintest.Row{
	{Name: "degraded_performance: stored and returned as given", Test: func(t *testing.T) {
		c := domaintest.ComponentWith(kernel.StatusOperational)
		domaintest.CheckFields(t, setStatus(&c, kernel.StatusDegradedPerformance, domaintest.T1))
		domaintest.Equal(t, "baseline", c.Baseline, kernel.StatusDegradedPerformance)
		domaintest.Equal(t, "status", c.Status(), kernel.StatusDegradedPerformance)
	}},
	{Name: "degraded_performance: ranks and reads as degraded in the rollup", Test: func(t *testing.T) {
		domaintest.Equal(t, "alone", statuspage.Rollup(page("degraded_performance")), kernel.StatusDegraded)
		domaintest.Equal(t, "beside degraded", statuspage.Rollup(page("degraded", "degraded_performance")),
			kernel.StatusDegraded)
		domaintest.Equal(t, "beside worse", statuspage.Rollup(page("degraded_performance", "partial_outage")),
			kernel.StatusPartialOutage)
		domaintest.Equal(t, "beside better", statuspage.Rollup(page("maintenance", "degraded_performance")),
			kernel.StatusDegraded)
		domaintest.Equal(t, "banner", kernel.Banner(kernel.StatusDegradedPerformance), "Some systems are degraded")
	}},
	{Name: "unknown in the rollup: ignored while any component has another status", Test: func(t *testing.T) {
		domaintest.Equal(t, "rollup", statuspage.Rollup(page("unknown", "operational", "unknown")),
			kernel.StatusOperational)
		domaintest.Equal(t, "rollup", statuspage.Rollup(page("unknown", "maintenance")), kernel.StatusMaintenance)
	}},
	{Name: "unknown in the rollup: a page is unknown if all its components are", Test: func(t *testing.T) {
		domaintest.Equal(t, "rollup", statuspage.Rollup(page("unknown", "unknown")), kernel.StatusUnknown)
		domaintest.Equal(t, "banner", kernel.Banner(kernel.StatusUnknown), "Status unknown")
	}},
	{Name: "unknown in the rollup: a page without components is operational", Test: func(t *testing.T) {
		domaintest.Equal(t, "rollup", statuspage.Rollup(nil), kernel.StatusOperational)
		domaintest.Equal(t, "banner", kernel.Banner(kernel.StatusOperational), "All systems operational")
	}},
	{
		Name: "Restoring the status: the effective status is the most severe of the baseline and the unacknowledged " +
			"causes",
		Test: func(t *testing.T) {
			domaintest.Equal(t, "no cause", domaintest.ComponentWith("degraded").Status(), kernel.StatusDegraded)
			domaintest.Equal(t, "a worse cause", domaintest.ComponentWith("degraded", "major_outage").Status(),
				kernel.StatusMajorOutage)
			domaintest.Equal(t, "a less severe cause", domaintest.ComponentWith("partial_outage", "degraded").Status(),
				kernel.StatusPartialOutage)
			domaintest.Equal(t, "two causes",
				domaintest.ComponentWith("operational", "degraded", "partial_outage").Status(),
				kernel.StatusPartialOutage)
			domaintest.Equal(t, "unknown is the least severe", domaintest.ComponentWith("unknown", "degraded").Status(),
				kernel.StatusDegraded)
			domaintest.Equal(t, "a tie keeps the baseline as given",
				domaintest.ComponentWith("degraded_performance", "degraded").Status(), kernel.StatusDegradedPerformance)
		},
	},
	{
		Name: "Restoring the status: a down monitor adds its cause and a ping removes only its own",
		Test: func(t *testing.T) {
			c := domaintest.ComponentWith("operational")
			c.AddCause(statuspage.Cause{Source: "out_a", Status: kernel.StatusPartialOutage, StartedAt: domaintest.T1},
				domaintest.T1)
			domaintest.Equal(t, "first down", c.Status(), kernel.StatusPartialOutage)
			domaintest.Equal(t, "updated_at", c.UpdatedAt, domaintest.T1)
			c.AddCause(statuspage.Cause{Source: "out_b", Status: kernel.StatusDegraded, StartedAt: domaintest.T2},
				domaintest.T2)
			domaintest.Equal(t, "updated_at, no visible change", c.UpdatedAt, domaintest.T1)
			c.RemoveCause("out_a", domaintest.T2)
			domaintest.Equal(t, "first up again", c.Status(), kernel.StatusDegraded)
			domaintest.Equal(t, "updated_at", c.UpdatedAt, domaintest.T2)
			c.RemoveCause("out_other", domaintest.T2)
			c.RemoveCause("out_b", domaintest.T2)
			domaintest.Equal(t, "both up again", c.Status(), kernel.StatusOperational)
			domaintest.Equal(t, "causes", len(c.Causes), 0)
		},
	},
	{Name: "Restoring the status: a baseline set during an outage stays", Test: func(t *testing.T) {
		c := domaintest.ComponentWith("operational", "major_outage")
		domaintest.CheckFields(t, setStatus(&c, kernel.StatusDegraded, domaintest.T1))
		c.RemoveCause("out_a", domaintest.T2)
		domaintest.Equal(t, "status", c.Status(), kernel.StatusDegraded)
	}},
	{
		Name: "Restoring the status: a PATCH acknowledges all current causes and takes effect immediately",
		Test: func(t *testing.T) {
			c := domaintest.ComponentWith("operational", "major_outage", "partial_outage")
			domaintest.CheckFields(t, setStatus(&c, kernel.StatusOperational, domaintest.T1))
			domaintest.Equal(t, "status", c.Status(), kernel.StatusOperational)
			domaintest.Equal(t, "updated_at", c.UpdatedAt, domaintest.T1)
			domaintest.Equal(t, "causes kept", len(c.Causes), 2)
		},
	},
	{Name: "Restoring the status: it stays until a new cause appears", Test: func(t *testing.T) {
		c := domaintest.ComponentWith("operational", "major_outage")
		domaintest.CheckFields(t, setStatus(&c, kernel.StatusOperational, domaintest.T1))
		c.AddCause(statuspage.Cause{Source: "out_new", Status: kernel.StatusDegraded, StartedAt: domaintest.T2},
			domaintest.T2)
		domaintest.Equal(t, "a new cause", c.Status(), kernel.StatusDegraded)
		c.RemoveCause("out_new", domaintest.T2)
		domaintest.Equal(t, "removed again, the other acknowledged", c.Status(), kernel.StatusOperational)
	}},
	{Name: "Restoring the status: it stays until a person sets another one", Test: func(t *testing.T) {
		c := domaintest.ComponentWith("operational", "major_outage")
		domaintest.CheckFields(t, setStatus(&c, kernel.StatusOperational, domaintest.T1))
		domaintest.CheckFields(t, setStatus(&c, kernel.StatusPartialOutage, domaintest.T2))
		domaintest.Equal(t, "status", c.Status(), kernel.StatusPartialOutage)
	}},
	{Name: "Restoring the status: maintenance set by a person is an ordinary baseline", Test: func(t *testing.T) {
		c := domaintest.ComponentWith("operational")
		domaintest.CheckFields(t, setStatus(&c, kernel.StatusMaintenance, domaintest.T1))
		c.AddCause(statuspage.Cause{Source: "out_a", Status: kernel.StatusMajorOutage, StartedAt: domaintest.T2},
			domaintest.T2)
		domaintest.Equal(t, "status", c.Status(), kernel.StatusMajorOutage)
	}},
	{Name: "Lengths: description 1,000 characters; null removes it, blank text is kept", Test: func(t *testing.T) {
		for _, c := range []struct {
			text string
			bad  []string
		}{
			{strings.Repeat("ß", 1000), nil}, {strings.Repeat("ß", 1001), []string{"description"}}, {"", nil},
			{"a\x00b", []string{"description"}},
		} {
			domaintest.CheckFields(t,
				domaintest.CheckNew(resource.Component, statuspage.Component{Name: "n", Description: &c.text}),
				c.bad...)
		}
	}},
}

func TestContractComponent(t *testing.T) { domaintest.RunRows(t, componentRows) }

func TestDecisionsComponent(t *testing.T) { domaintest.RunRows(t, componentDecisionRows) }
