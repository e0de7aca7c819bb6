package api

import (
	"math"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var monitorCheckRoutes = []route{
	{"POST", "/api/v1/monitors/test", rights.MonitorChange, (*api).testNewMonitor, operation{
		id:      "testNewMonitor",
		summary: "Check once what a new monitor would check. Nothing is saved.",
		text: "The body is that of `createMonitor`; the fields that have nothing to do with the check are ignored. " +
			"The timeout is at most 30 seconds. A check that fails is a result, and not an error. A workspace may " +
			"run 30 tests in any minute; more are 429.",
		returns:   one("CheckResult", "The result."),
		rehearsal: true,
	}},
	{"GET", "/api/v1/monitors/{monitorId}/results", rights.MonitorRead, (*api).listCheckResults, operation{
		id:      "listCheckResults",
		summary: "List the results of the checks of a monitor in the last 24 hours, newest first.",
		text:    "Empty for a monitor of the type `heartbeat`.",
		returns: list("CheckResult"),
	}},
	{"POST", "/api/v1/monitors/{monitorId}/test", rights.MonitorChange, (*api).testMonitor, operation{
		id:      "testMonitor",
		summary: "Check the target of a monitor once. The result is not saved, and does not count.",
		text: "The timeout is at most 30 seconds. 422 for a monitor of the type `heartbeat`. A workspace may run 30 " +
			"tests in any minute; more are 429. The body is ignored.",
		returns:   one("CheckResult", "The result."),
		rehearsal: true,
	}},
}

type checkResultJSON struct {
	Status               monitor.CheckStatus `json:"status"`
	Reason               *string             `json:"reason"`
	Warning              bool                `json:"warning"`
	DueAt                string              `json:"due_at"`
	StartedAt            string              `json:"started_at"`
	Phases               phasesJSON          `json:"phases"`
	Location             *string             `json:"location"`
	CertificateExpiresAt *string             `json:"certificate_expires_at"`
	Body                 *string             `json:"body"` // null if the caller may only read
}

// phasesJSON are times in seconds; null: the phase did not happen.
type phasesJSON struct {
	DNS       *float64 `json:"dns"`
	Connect   *float64 `json:"connect"`
	TLS       *float64 `json:"tls"`
	FirstByte *float64 `json:"first_byte"`
	Total     float64  `json:"total"`
}

// newCheckResultJSON returns the JSON of a result. The body of a response may contain secrets, so only actors who can
// change a monitor see it.
func (c *call) newCheckResultJSON(r monitor.CheckResult) checkResultJSON {
	out := checkResultJSON{
		Status: r.Status, Reason: optional.Ptr(r.Reason), Warning: r.Warning, DueAt: kernel.FormatTime(r.DueAt),
		StartedAt: kernel.FormatTime(r.StartedAt),
		Phases: phasesJSON{
			phase(r.Phases.DNS), phase(r.Phases.Connect), phase(r.Phases.TLS), phase(r.Phases.FirstByte),
			decimalSeconds(r.Phases.Total),
		},
		Location: optional.Ptr(r.Location), CertificateExpiresAt: timePtr(r.CertificateExpiresAt),
	}
	if rights.MonitorSecrets.AllowsScope(c.token.Scope) {
		out.Body = optional.Ptr(r.Body)
	}
	return out
}

func phase(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	return new(decimalSeconds(d))
}

// decimalSeconds returns a duration in seconds, rounded to microseconds.
func decimalSeconds(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e6 }

// listCheckResults lists the results of the last day, newest first.
func (a *api) listCheckResults(c *call) (store.Response, error) {
	return serveList(c, c.newCheckResultJSON, func(r store.Pagination) ([]monitor.CheckResult, int, error) {
		return a.store.CheckResults(c.Context(), c.actor(), c.PathValue("monitorId"), r)
	})
}

// testMonitor checks the target of a monitor once. The result is not saved. It reads no body.
func (a *api) testMonitor(c *call) (store.Response, error) {
	m, err := a.store.MonitorCheck(c.Context(), c.actor(), c.PathValue("monitorId"))
	if err == nil && !m.IsCheck() {
		var bad kernel.ValidationError
		bad.Add("type", resource.NothingToCheck, monitor.MonitorHeartbeat)
		err = bad.Err()
	}
	if err != nil {
		return store.Response{}, err
	}
	if err := m.Check.HasSecrets(); err != nil {
		return store.Response{}, err
	}
	result, err := a.tests.Test(c.Context(), c.token.WorkspaceID, m.Type, m.Check)
	return resourceResponse(result, err, c.newCheckResultJSON)
}

// testNewMonitor runs the check that the body describes once. Nothing is saved.
func (a *api) testNewMonitor(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	change, err := resource.ReadCheck(o)
	if err != nil {
		return store.Response{}, err
	}
	m, err := resource.NewMonitor(resource.MonitorChange(change), a.now())
	if err != nil {
		return store.Response{}, err
	}
	result, err := a.tests.Test(c.Context(), c.token.WorkspaceID, m.Type, m.Check)
	return resourceResponse(result, err, c.newCheckResultJSON)
}
