package allswell_test

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/resource"
)

// with returns a component with a baseline and causes, last changed at t0.
func with(baseline allswell.Status, causes ...allswell.Status) allswell.Component {
	c := allswell.Component{ID: "comp_1", Baseline: baseline, UpdatedAt: t0}
	for i, status := range causes {
		c.Causes = append(c.Causes, allswell.Cause{Source: outageID(i), Status: status, StartedAt: t0})
	}
	return c
}

// setStatus sets the status of a component by hand.
func setStatus(c *allswell.Component, status allswell.Status, now time.Time) error {
	return resource.Component.Apply(c, func(c *allswell.Component) error { c.SetStatus(status); return nil }, now)
}

func outageID(i int) string { return "out_" + string(rune('a'+i)) }

// page returns components with the given baselines.
func page(statuses ...allswell.Status) []allswell.Component {
	var out []allswell.Component
	for _, s := range statuses {
		out = append(out, with(s))
	}
	return out
}

// statusRow is one row of the table "Component status values".
func statusRow(value allswell.Status, display string) row {
	return row{"status " + string(value) + ", displayed as " + display, func(t *testing.T) {
		if !value.Valid() {
			t.Error("not valid")
		}
		equal(t, "label", value.Label(), display)
		c := with(allswell.StatusOperational)
		checkFields(t, setStatus(&c, value, t1))
		equal(t, "status", c.Status(), value)
	}}
}

var componentRows = []row{
	statusRow("operational", "Operational"),
	statusRow("degraded", "Degraded"),
	statusRow("degraded_performance", "Degraded Performance"),
	statusRow("partial_outage", "Partial Outage"),
	statusRow("major_outage", "Major Outage"),
	statusRow("maintenance", "Under Maintenance"),
	statusRow("unknown", "Unknown"),
	{"the status values are these seven", func(t *testing.T) {
		equal(t, "statuses", allswell.Statuses, []allswell.Status{"operational", "degraded", "degraded_performance", "partial_outage", "major_outage", "maintenance", "unknown"})
	}},
	{"Update component status sets the status to the given value when the value is valid", func(t *testing.T) {
		for _, from := range allswell.Statuses {
			for _, to := range allswell.Statuses {
				c := with(from)
				checkFields(t, setStatus(&c, to, t1))
				equal(t, string(from)+" to "+string(to), c.Status(), to)
				equal(t, "updated_at moved", c.UpdatedAt.Equal(t1), from != to)
			}
		}
	}},
	{"Update component status, otherwise the request fails with 422", func(t *testing.T) {
		for _, s := range []allswell.Status{"", "Operational", "down", "operational "} {
			c := with(allswell.StatusOperational)
			checkFields(t, setStatus(&c, s, t1), "status")
		}
	}},
	{"Update component status, description sets the text, null removes it, without it the text stays", func(t *testing.T) {
		c := with(allswell.StatusOperational)
		describe := func(text *string, now time.Time) {
			checkFields(t, resource.Component.Apply(&c, func(c *allswell.Component) error { c.Description = text; return nil }, now))
		}
		describe(new("Cards and invoices"), t1)
		equal(t, "updated_at", c.UpdatedAt, t1)
		describe(new("Cards and invoices"), t2)
		equal(t, "updated_at, set to its value", c.UpdatedAt, t1)
		checkFields(t, setStatus(&c, allswell.StatusOperational, t2))
		equal(t, "omitted", c.Description, ptr("Cards and invoices"))
		equal(t, "updated_at", c.UpdatedAt, t1)
		describe(nil, t2)
		equal(t, "updated_at", c.UpdatedAt, t2)
	}},
	{"Page rollup, from most to least severe: major_outage, partial_outage, degraded, maintenance, operational", func(t *testing.T) {
		order := []allswell.Status{"major_outage", "partial_outage", "degraded", "maintenance", "operational"}
		for i, worst := range order {
			for _, other := range order[i:] {
				equal(t, "rollup", allswell.Rollup(page(worst, other)), worst)
				equal(t, "rollup, turned", allswell.Rollup(page(other, worst)), worst)
			}
			for _, better := range order[i+1:] {
				if !worst.Worse(better) || better.Worse(worst) {
					t.Errorf("%s should be worse than %s", worst, better)
				}
			}
		}
	}},
	{"With some components degraded and none worse, the banner reads that some systems are degraded", func(t *testing.T) {
		equal(t, "banner", allswell.Banner(allswell.Rollup(page("operational", "degraded", "maintenance"))), "Some systems are degraded")
	}},
	{"With a component in major_outage, the banner reads that there is a major system outage", func(t *testing.T) {
		equal(t, "banner", allswell.Banner(allswell.Rollup(page("operational", "partial_outage", "major_outage"))), "Major system outage")
	}},
	{"The value unknown is not placed in this order", func(t *testing.T) {
		for _, s := range allswell.Statuses {
			if allswell.StatusUnknown.Worse(s) {
				t.Errorf("unknown is worse than %s", s)
			}
		}
	}},
}

var componentDecisionRows = []row{
	{"degraded_performance: stored and returned as given", func(t *testing.T) {
		c := with(allswell.StatusOperational)
		checkFields(t, setStatus(&c, allswell.StatusDegradedPerformance, t1))
		equal(t, "baseline", c.Baseline, allswell.StatusDegradedPerformance)
		equal(t, "status", c.Status(), allswell.StatusDegradedPerformance)
	}},
	{"degraded_performance: ranks and reads as degraded in the rollup", func(t *testing.T) {
		equal(t, "alone", allswell.Rollup(page("degraded_performance")), allswell.StatusDegraded)
		equal(t, "beside degraded", allswell.Rollup(page("degraded", "degraded_performance")), allswell.StatusDegraded)
		equal(t, "beside worse", allswell.Rollup(page("degraded_performance", "partial_outage")), allswell.StatusPartialOutage)
		equal(t, "beside better", allswell.Rollup(page("maintenance", "degraded_performance")), allswell.StatusDegraded)
		equal(t, "banner", allswell.Banner(allswell.StatusDegradedPerformance), "Some systems are degraded")
	}},
	{"unknown in the rollup: ignored while any component has another status", func(t *testing.T) {
		equal(t, "rollup", allswell.Rollup(page("unknown", "operational", "unknown")), allswell.StatusOperational)
		equal(t, "rollup", allswell.Rollup(page("unknown", "maintenance")), allswell.StatusMaintenance)
	}},
	{"unknown in the rollup: a page is unknown if all its components are", func(t *testing.T) {
		equal(t, "rollup", allswell.Rollup(page("unknown", "unknown")), allswell.StatusUnknown)
		equal(t, "banner", allswell.Banner(allswell.StatusUnknown), "Status unknown")
	}},
	{"unknown in the rollup: a page without components is operational", func(t *testing.T) {
		equal(t, "rollup", allswell.Rollup(nil), allswell.StatusOperational)
		equal(t, "banner", allswell.Banner(allswell.StatusOperational), "All systems operational")
	}},
	{"Restoring the status: the effective status is the most severe of the baseline and the unacknowledged causes", func(t *testing.T) {
		equal(t, "no cause", with("degraded").Status(), allswell.StatusDegraded)
		equal(t, "a worse cause", with("degraded", "major_outage").Status(), allswell.StatusMajorOutage)
		equal(t, "a less severe cause", with("partial_outage", "degraded").Status(), allswell.StatusPartialOutage)
		equal(t, "two causes", with("operational", "degraded", "partial_outage").Status(), allswell.StatusPartialOutage)
		equal(t, "unknown is the least severe", with("unknown", "degraded").Status(), allswell.StatusDegraded)
		equal(t, "a tie keeps the baseline as given", with("degraded_performance", "degraded").Status(), allswell.StatusDegradedPerformance)
	}},
	{"Restoring the status: a down monitor adds its cause and a ping removes only its own", func(t *testing.T) {
		c := with("operational")
		c.AddCause(allswell.Cause{Source: "out_a", Status: allswell.StatusPartialOutage, StartedAt: t1}, t1)
		equal(t, "first down", c.Status(), allswell.StatusPartialOutage)
		equal(t, "updated_at", c.UpdatedAt, t1)
		c.AddCause(allswell.Cause{Source: "out_b", Status: allswell.StatusDegraded, StartedAt: t2}, t2)
		equal(t, "updated_at, no visible change", c.UpdatedAt, t1)
		c.RemoveCause("out_a", t2)
		equal(t, "first up again", c.Status(), allswell.StatusDegraded)
		equal(t, "updated_at", c.UpdatedAt, t2)
		c.RemoveCause("out_other", t2)
		c.RemoveCause("out_b", t2)
		equal(t, "both up again", c.Status(), allswell.StatusOperational)
		equal(t, "causes", len(c.Causes), 0)
	}},
	{"Restoring the status: a baseline set during an outage stays", func(t *testing.T) {
		c := with("operational", "major_outage")
		checkFields(t, setStatus(&c, allswell.StatusDegraded, t1))
		c.RemoveCause("out_a", t2)
		equal(t, "status", c.Status(), allswell.StatusDegraded)
	}},
	{"Restoring the status: a PATCH acknowledges all current causes and takes effect immediately", func(t *testing.T) {
		c := with("operational", "major_outage", "partial_outage")
		checkFields(t, setStatus(&c, allswell.StatusOperational, t1))
		equal(t, "status", c.Status(), allswell.StatusOperational)
		equal(t, "updated_at", c.UpdatedAt, t1)
		equal(t, "causes kept", len(c.Causes), 2)
	}},
	{"Restoring the status: it stays until a new cause appears", func(t *testing.T) {
		c := with("operational", "major_outage")
		checkFields(t, setStatus(&c, allswell.StatusOperational, t1))
		c.AddCause(allswell.Cause{Source: "out_new", Status: allswell.StatusDegraded, StartedAt: t2}, t2)
		equal(t, "a new cause", c.Status(), allswell.StatusDegraded)
		c.RemoveCause("out_new", t2)
		equal(t, "removed again, the other acknowledged", c.Status(), allswell.StatusOperational)
	}},
	{"Restoring the status: it stays until a person sets another one", func(t *testing.T) {
		c := with("operational", "major_outage")
		checkFields(t, setStatus(&c, allswell.StatusOperational, t1))
		checkFields(t, setStatus(&c, allswell.StatusPartialOutage, t2))
		equal(t, "status", c.Status(), allswell.StatusPartialOutage)
	}},
	{"Restoring the status: maintenance set by a person is an ordinary baseline", func(t *testing.T) {
		c := with("operational")
		checkFields(t, setStatus(&c, allswell.StatusMaintenance, t1))
		c.AddCause(allswell.Cause{Source: "out_a", Status: allswell.StatusMajorOutage, StartedAt: t2}, t2)
		equal(t, "status", c.Status(), allswell.StatusMajorOutage)
	}},
	{"Lengths: description 1,000 characters; null removes it, blank text is kept", func(t *testing.T) {
		for _, c := range []struct {
			text string
			bad  []string
		}{{strings.Repeat("ß", 1000), nil}, {strings.Repeat("ß", 1001), []string{"description"}}, {"", nil}, {"a\x00b", []string{"description"}}} {
			checkFields(t, checkNew(resource.Component, allswell.Component{Name: "n", Description: &c.text}), c.bad...)
		}
	}},
}
