package api

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/configfield"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
)

// monitorCheckRoutes are the routes of the checks of monitors.
var monitorCheckRoutes = []route{
	{"POST", testPath, rights.MonitorChange, (*api).testNewMonitor, operation{
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

// The fields that only heartbeats have, and those that only monitors have that are checked.
var (
	heartbeatFields = []string{"token", "schedule", "grace", "max_runtime", "publish_output", "min_runtime", "max_per_interval", "no_overlap",
		"max_runtime_action", "min_runtime_action", "max_per_interval_action", "no_overlap_action"}
	checkFields = []string{"timeout", "slow_after", "recovery_threshold", "confirm_from"}
)

// readMonitorType reads the type of a new monitor. ok is false if it is not known, which is recorded.
func readMonitorType(o *jsonobject.Object) (t allswell.MonitorType, ok bool) {
	if !o.Given("type") {
		return allswell.MonitorHeartbeat, true
	}
	given := jsonobject.Enum(o, "type", check.MonitorTypes())
	return orZero(given), given != nil
}

// refuseFields records an error for each field that is given and not null, because monitors of the type do not have it.
func refuseFields(o *jsonobject.Object, t allswell.MonitorType, fields ...string) {
	for _, field := range fields {
		if o.Given(field) {
			o.Add(field, "A monitor of the type %s has no %s.", t, allswell.Name(field))
		}
	}
}

// refuseOtherTypes records an error for each field that is given and belongs to other types.
func refuseOtherTypes(o *jsonobject.Object, t check.Type) {
	for _, f := range check.Fields() {
		if _, own := t.Field(f.Name); !own {
			refuseFields(o, t.Name, f.Name)
		}
	}
}

// givenFields returns the fields of the type that are present, null included.
func givenFields(o *jsonobject.Object, t check.Type) map[string]json.RawMessage {
	return givenOf(o, t.Fields)
}

// givenOf returns those of some fields that are present, null included.
func givenOf(o *jsonobject.Object, fields []configfield.Field) map[string]json.RawMessage {
	given := make(map[string]json.RawMessage)
	for _, f := range fields {
		if value, ok := o.Raw(f.Name); ok {
			given[f.Name] = value
		}
	}
	return given
}

// readNewCheck reads a new monitor of a type that is checked, or what replaces before; nil: there is none. Secrets that
// are absent stay what they are.
func readNewCheck(o *jsonobject.Object, n allswell.NewMonitor, t check.Type, before *allswell.Monitor) (allswell.NewMonitor, error) {
	refuseFields(o, t.Name, heartbeatFields...)
	refuseOtherTypes(o, t)
	n.Type = t.Name
	if d := seconds(o.Integer("interval")); d != nil {
		n.Interval = max(*d, 1) // 0 is the default in the domain, and invalid here
	}
	timing := readCheckTiming(o)
	n.Check = allswell.CheckSpec{
		Timeout: orZero(timing.Timeout), SlowAfter: orZero(timing.SlowAfter),
		RecoveryThreshold: orZero(timing.RecoveryThreshold), ConfirmFrom: orZero(timing.ConfirmFrom),
	}
	given := givenFields(o, t)
	var kept map[string]json.RawMessage
	if before != nil && before.Type == t.Name {
		kept = before.Check.Secrets
	}
	fields, err := configfield.Merge(nil, kept, given)
	if err != nil {
		return n, err
	}
	var invalid error
	n.Check.Config, _, invalid = t.Read(fields)
	if invalid == nil && before != nil {
		invalid = checkKept(t, before.Check, n.Check.Config, given)
	}
	n.Check.Secrets = secretsOf(t.Fields, given)
	if before == nil {
		maps.DeleteFunc(n.Check.Secrets, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	}
	return n, allswell.JoinInvalid(n.Validate(), invalid)
}

// secretsOf returns the secrets among the given fields.
func secretsOf(fields []configfield.Field, given map[string]json.RawMessage) map[string]json.RawMessage {
	secrets := make(map[string]json.RawMessage)
	for _, f := range fields {
		if value, ok := given[f.Name]; ok && f.Secret {
			secrets[f.Name] = value
		}
	}
	return secrets
}

// readCheckTiming reads the fields that all checks have. Zeros are invalid, so they become negative.
func readCheckTiming(o *jsonobject.Object) (ch allswell.CheckChange) {
	ch.Timeout = seconds(o.Integer("timeout"))
	ch.RecoveryThreshold, ch.ConfirmFrom = o.Integer("recovery_threshold"), o.Integer("confirm_from")
	if n := o.Number("slow_after"); n != nil {
		ch.SlowAfter = new(time.Duration(min(max(*n, -1), 1e6) * float64(time.Second)))
		*ch.SlowAfter = ch.SlowAfter.Round(time.Microsecond)
		if *ch.SlowAfter == 0 {
			*ch.SlowAfter = -1
		}
	} else if o.Null("slow_after") {
		ch.SlowAfter = new(time.Duration)
	}
	if ch.Timeout != nil && *ch.Timeout == 0 {
		*ch.Timeout = -1
	}
	for _, n := range []*int{ch.RecoveryThreshold, ch.ConfirmFrom} {
		if n != nil && *n == 0 {
			*n = -1
		}
	}
	return ch
}

// readParent reads parent_id; "" is none.
func readParent(o *jsonobject.Object) *string { return nullableText(o, "parent_id") }

// mentionsCheck reports whether a change of a monitor has a field of a type.
func mentionsCheck(o *jsonobject.Object) bool {
	return slices.ContainsFunc(check.Fields(), func(f configfield.Shared) bool { _, ok := o.Raw(f.Name); return ok })
}

// maxCheckChanges is how often a change of a check is tried while others change it, too.
const maxCheckChanges = 5

// changeCheck makes a change that has fields of a type. They are merged with those that the monitor has, so that the
// change is made only if these have not been changed meanwhile.
func (a *api) changeCheck(c *call, o *jsonobject.Object, ch allswell.MonitorChange) (allswell.Monitor, error) {
	for try := 1; ; try++ {
		m, err := a.store.MonitorCheck(c.Context(), c.actor(), c.PathValue("monitorId"))
		if err != nil {
			return m, err
		}
		if err := c.cond.Check(m); err != nil {
			return m, err
		}
		if err := readCheckConfig(o, m, &ch); try == 1 {
			if err := o.Check(allswell.JoinInvalid(ch.Validate(a.now()), err)); err != nil {
				return m, err
			}
		} else if err != nil {
			return m, err
		}
		m, err = a.store.ChangeMonitor(c.Context(), c.actor(), m.ID, ch, allswell.Precondition{Tags: []string{allswell.EntityTag(m)}})
		if !errors.Is(err, allswell.ErrPreconditionFailed) || try == maxCheckChanges {
			return m, err
		}
	}
}

// readCheckConfig reads the fields of the monitor's type into a change of it.
func readCheckConfig(o *jsonobject.Object, m allswell.Monitor, ch *allswell.MonitorChange) error {
	t, ok := check.TypeOf(m.Type)
	refuseOtherTypes(o, check.Type{Name: m.Type, Fields: t.Fields})
	if !ok {
		return nil
	}
	given := givenFields(o, t)
	if len(given) == 0 {
		return nil
	}
	fields, err := configfield.Merge(m.Check.Config, m.Check.Secrets, given)
	if err != nil {
		return err
	}
	ch.Check.Secrets = secretsOf(t.Fields, given)
	if ch.Check.Config, _, err = t.Read(fields); err != nil {
		return err
	}
	return checkKept(t, m.Check, ch.Check.Config, given)
}

// checkKept refuses a change of a check that would send secrets elsewhere.
func checkKept(t check.Type, before allswell.CheckSpec, config json.RawMessage, given map[string]json.RawMessage) error {
	return t.CheckKeptSecrets(configfield.Change{
		Before: before.Config, After: config, Secrets: before.Secrets, Kept: before.SecretFields, Given: given,
	})
}

type checkResultJSON struct {
	Status               allswell.CheckStatus `json:"status"`
	Reason               *string              `json:"reason"`
	Warning              bool                 `json:"warning"`
	DueAt                string               `json:"due_at"`
	StartedAt            string               `json:"started_at"`
	Phases               phasesJSON           `json:"phases"`
	Location             *string              `json:"location"`
	CertificateExpiresAt *string              `json:"certificate_expires_at"`
	Body                 *string              `json:"body"` // null if the caller may only read
}

// phasesJSON are times in seconds; null: the phase did not happen.
type phasesJSON struct {
	DNS       *float64 `json:"dns"`
	Connect   *float64 `json:"connect"`
	TLS       *float64 `json:"tls"`
	FirstByte *float64 `json:"first_byte"`
	Total     float64  `json:"total"`
}

// newCheckResultJSON returns the JSON of a result. A response may contain what is secret, so only those who can change
// a monitor see it.
func (c *call) newCheckResultJSON(r allswell.CheckResult) checkResultJSON {
	out := checkResultJSON{
		Status: r.Status, Reason: ptrOrNil(r.Reason), Warning: r.Warning, DueAt: allswell.FormatTime(r.DueAt), StartedAt: allswell.FormatTime(r.StartedAt),
		Phases:   phasesJSON{phase(r.Phases.DNS), phase(r.Phases.Connect), phase(r.Phases.TLS), phase(r.Phases.FirstByte), decimalSeconds(r.Phases.Total)},
		Location: ptrOrNil(r.Location), CertificateExpiresAt: timePtr(r.CertificateExpiresAt),
	}
	if rights.MonitorSecrets.AllowsScope(c.token.Scope) {
		out.Body = ptrOrNil(r.Body)
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
	return serveList(c, c.newCheckResultJSON, func(r store.Pagination) ([]allswell.CheckResult, int, error) {
		return a.store.CheckResults(c.Context(), c.actor(), c.PathValue("monitorId"), r)
	})
}

// testMonitor checks the target of a monitor once. It reads no body.
func (a *api) testMonitor(c *call) (store.Response, error) {
	m, err := a.store.MonitorCheck(c.Context(), c.actor(), c.PathValue("monitorId"))
	if err == nil && !m.IsCheck() {
		var bad allswell.ValidationError
		bad.Add("type", "A monitor of the type %s waits for pings: there is nothing to check.", allswell.MonitorHeartbeat)
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

// testNewMonitor checks once what a new monitor would check.
func (a *api) testNewMonitor(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	allowReadOnly[monitorJSON](o)
	o.AllowReadOnly("unique_name", "schedule")
	o.Require("type")
	kind, ok := readMonitorType(o)
	t, isCheck := check.TypeOf(kind)
	if !isCheck {
		if ok && o.Given("type") {
			o.Add("type", "A monitor of the type %s waits for pings: there is nothing to check.", kind)
		}
		givenFields(o, allFields)
		readCheckTiming(o)
		return store.Response{}, o.Check(nil)
	}
	n, err := readNewCheck(o, allswell.NewMonitor{Name: "test", Token: ""}, t, nil)
	if err := o.Check(err); err != nil {
		return store.Response{}, err
	}
	result, err := a.tests.Test(c.Context(), c.token.WorkspaceID, t.Name, n.Check)
	return resourceResponse(result, err, c.newCheckResultJSON)
}

// allFields is a type with the fields of all types, none of which is required. With it the fields of a check of an
// unknown type are read, to find out which are not known.
var allFields = func() (t check.Type) {
	for _, f := range check.Fields() {
		f.Required = false
		t.Fields = append(t.Fields, f.Field)
	}
	return t
}()

// testPath is the path of testNewMonitor. A monitor may have the slug test: see api.handler.
const testPath = "/api/v1/monitors/test"

// monitorPath is the path of a monitor.
const monitorPath = "/api/v1/monitors/{monitorId}"

// withMonitorTest returns the handler of testPath: POST is handled by test, and all other methods by monitor, as for
// any other slug.
func withMonitorTest(test, monitor http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			r.SetPathValue("monitorId", "test")
			r.Pattern = monitorPath
			monitor.ServeHTTP(w, r)
			return
		}
		test.ServeHTTP(w, r)
	})
}
