package resource

import (
	"encoding/json"
	"time"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/resource/field"
)

// Monitor describes monitors. monitorByHand, for requests, and monitor.MonitorConfig.AddInvalid have the rules between
// fields.
var Monitor = field.New(field.Resource[monitor.Monitor]{
	Noun: "monitor", Path: "monitors", Unique: true, Object: kernel.ObjectMonitor, ReadHand: monitorByHand,
	Calls: []string{"create", "get", "put", "change", "delete"},
	Rules: func(m, before *monitor.Monitor, now time.Time, bad *kernel.ValidationError) {
		var was *monitor.MonitorConfig
		if before != nil {
			was = &before.MonitorConfig
		}
		m.AddInvalid(was, now, bad)
	},
	Doc: "a heartbeat monitor, which is down when expected pings are missing, or a monitor whose target the server " +
		"checks. Fields that " +
		"monitors of its Type do not have are zero",
	Example: exampleMonitor,
	Fields: []*field.Field[monitor.Monitor]{
		field.ID("id", kernel.PrefixMonitor, func(m *monitor.Monitor) *string { return &m.ID }),
		field.Slug(func(m *monitor.Monitor) *string { return &m.Slug }).
			Doc("Slug of the monitor, unique in the workspace. Ping addresses with a ping key have it").
			Empty("made from the name").
			Form("Slug", "Used in URLs and commands. Lower-case letters, digits and hyphens.", ""),
		field.Line("name", func(m *monitor.Monitor) *string { return &m.Name }).Required().Max(kernel.MaxNameLength).
			Doc("Name of the monitor").
			Form("Name", "", "Nightly backup"),
		field.Choice("type", func(m *monitor.Monitor) *monitor.MonitorType {
			return &m.Type
		}, monitorTypes()...).ByHand().
			Doc("Type of the monitor, which cannot be changed. Default: heartbeat").
			Form("Type", "", ""),
		ofHeartbeats(field.Text("token", func(m *monitor.Monitor) *string {
			return &m.Token
		})).Nullable().Plain().ByHand().Whole().Unaudited().Max(kernel.MaxPingTokenLength).
			Doc("The ping token, a credential. Null if the API token has the scope read. In a request that creates a "+
				"monitor, the token of a job at "+
				"another service: a UUID or 16 to 64 letters, digits and hyphens, but not 22, which is the length of "+
				"ping keys. 422 if any monitor has it").
			Empty("a random one").
			Form("Ping token",
				"Keep the token of a job that moves from another service: a UUID, or 16 to 64 letters, digits and "+
					"hyphens. Default: random.", "f618072a-7bde-4eee-af63-71a77c5723bc"),
		ofHeartbeats(field.Text("ping_url", func(m *monitor.Monitor) *string {
			return &m.PingURL
		})).Nullable().Plain().ReadOnly().NoColumn().
			Doc("The URL to ping, which contains the ping token. It begins with `ALLSWELL_BASE_URL`, or with the " +
				"host of the request").
			Empty("a check, or the API token has the scope read"),
		field.Duration("interval", 0, func(m *monitor.Monitor) *time.Duration {
			return &m.Interval
		}).ByHand().AtLeast(monitor.MinInterval).
			Doc("Maximum expected time between two pings, or the time between two checks, which is from 10 to 86400 "+
				"and 60 by default. With a cron "+
				"schedule or a calendar, the longest distance between two due times that follow each other in the "+
				"ten years from 2026 on: it may be "+
				"given with a `schedule` only if it agrees").
			Form("Interval", "", "25h"),
		ofHeartbeats(field.Own("schedule", "Schedule", "OptionalSchedule", "Schedule",
			func(m *monitor.Monitor) *schedule.Cron {
				return &m.Cron
			}, shownSchedule, auditedSchedule)).
			Doc("When pings are due").
			Form("Schedule", "", ""),
		ofHeartbeats(field.Duration("grace", monitor.MaxGrace, func(m *monitor.Monitor) *time.Duration {
			return &m.Grace
		})).DefaultByHand().
			Doc("How much later than due a ping may come. Default: 0, and 300 with a cron schedule or a calendar").
			Form("Grace period", "", "5m"),
		field.Time("next_check_at", func(m *monitor.Monitor) *time.Time {
			return &m.NextCheckAt
		}).ReadOnly().NoColumn().Nullable().
			Doc("When the next ping is due, with the grace, or the next check").Empty("before the first ping and " +
			"while disabled"),
		field.Integer("consecutive_failures", func(m *monitor.Monitor) *int {
			return &m.ConsecutiveFailures
		}).ReadOnly().NoColumn().
			Doc("Consecutive failures"),
		field.Choice("state", func(m *monitor.Monitor) *monitor.MonitorState {
			return &m.State
		}, field.Values(monitor.MonitorStates)...).ReadOnly().NoColumn().
			Doc("Whether it is up or down"),
		field.ChoiceBy("condition", (*monitor.Monitor).DisplayState, nil,
			field.Values(monitor.DisplayStates)...).ReadOnly().Schema("MonitorCondition").
			Doc("The state in more words"),
		field.Bool("enabled", func(m *monitor.Monitor) *bool { return &m.Enabled }).ByHand().
			Default(func(m *monitor.Monitor, _ time.Time) { m.Enabled = true }).
			Doc("Whether pings are expected, or the target is checked").
			Form("Enabled", "", ""),
		field.Time("paused_until", func(m *monitor.Monitor) *time.Time {
			return &m.PausedUntil
		}).ByHand().Partial().Nullable().
			Doc("When a disabled monitor is enabled again by itself").Empty("it is enabled, or stays disabled until "+
			"someone enables it").
			Form("Paused until", "", ""),
		field.Reference("parent_id", func(m *monitor.Monitor) *string { return &m.ParentID }).Nullable().
			Doc("The parent monitor, in requests by id or slug. While the parent is down, failures of this one are "+
				"shown, and alerts are suppressed").Empty("none").
			Form("Parent monitor", "", ""),
		field.Reference("component_id", func(m *monitor.Monitor) *string { return &m.ComponentID }).Nullable().ByHand().
			Doc("The component of the page that has the down status while the monitor is down, in requests by id or "+
				"slug").Empty("none").
			Form("Component", "", ""),
		field.Reference("page", func(m *monitor.Monitor) *string {
			return &m.PageSlug
		}).Nullable().Plain().ByHand().NoColumn().
			Doc("The slug of the page").Empty("none; such a monitor has no component and opens no incidents").
			Form("Page", "", ""),
		ofHeartbeats(field.Time("last_ping_at", func(m *monitor.Monitor) *time.Time {
			return &m.LastPingAt
		})).ReadOnly().NoColumn().Nullable().
			Doc("When the last ping came").Empty("never pinged, so never down"),
		field.Integer("failure_threshold", func(m *monitor.Monitor) *int {
			return &m.FailureThreshold
		}).Between(0, monitor.MaxFailureThreshold).Nullable().
			Doc("Consecutive ticks that find a ping overdue, or consecutive failed checks, after which the "+
				"monitor is down").Empty("the setting for all monitors, as with 0").
			Form("Failure threshold", "Default: server setting.", ""),
		field.Integer("effective_failure_threshold", func(m *monitor.Monitor) *int {
			return &m.EffectiveFailureThreshold
		}).ReadOnly().NoColumn().
			Doc("The threshold of the monitor, or the setting for all monitors"),
		field.Text("incident_id", func(m *monitor.Monitor) *string {
			return &m.IncidentID
		}).ReadOnly().NoColumn().Nullable().
			Doc("The incident that the monitor's outage opened, while the monitor is down").Empty("it is up, or the " +
			"incident was deleted"),
		field.Choice("down_status", func(m *monitor.Monitor) *kernel.Status {
			return &m.DownStatus
		}, field.Options(kernel.DownStatuses, kernel.Status.Label)...).
			Schema("DownStatus").Kept().ByHand().
			Doc("The status of the component while the monitor is down").
			Empty("`major_outage` if it is the only monitor of its component, and `partial_outage` otherwise: one "+
				"silent job of several is not a major outage").
			Form("Status when down", "", ""),
		field.Choice("auto_incidents", func(m *monitor.Monitor) *statuspage.AutoIncidents { return &m.AutoIncidents },
			field.Of(statuspage.AutoIncidentsPublish, "Publish"),
			field.Of(statuspage.AutoIncidentsDraft, "Draft"),
			field.Of(statuspage.AutoIncidentsOff, "None")).Nullable().NullColumn().
			Doc("What incidents its outages open").Empty("the setting of the page").
			Form("Incidents", "", "").None("Page default"),
		field.Texts("tags", func(m *monitor.Monitor) *[]string { return &m.Tags }).
			Check(func(m *monitor.Monitor, bad *kernel.ValidationError) {
				monitor.CheckTags(bad, m.Tags)
			}).Flag("tag").NoFlag("no-tags").
			Doc("Up to 10 different tags, of 1 to 32 lower-case letters, digits and hyphens").
			Form("Tags", "Space-separated. Lower-case letters, digits and hyphens.", "prod nightly"),
		field.Choices("warnings", func(m *monitor.Monitor) *[]monitor.Condition {
			return &m.Warned
		}, field.Values(monitor.WarningConditions)...).ReadOnly().NoColumn().
			Doc("The conditions that the last runs violated, and that only warn. The monitor's `warnings` path says " +
				"how"),
		ofChecks(field.Duration("timeout", monitor.MaxCheckTimeout, func(m *monitor.Monitor) *time.Duration {
			return &m.Check.Timeout
		})).
			Nullable().AtLeast(monitor.MinCheckTimeout).NoColumn().Typed().
			Doc("Maximum duration of a check; less than the interval. Not of heartbeats").Empty("10, but at most "+
			"half the interval").
			Form("Timeout", "Maximum duration of a check, less than the interval.", "10s"),
		ofChecks(field.Decimal("slow_after", monitor.MaxCheckTimeout, refuseSlowAfter,
			func(m *monitor.Monitor) *time.Duration {
				return &m.Check.SlowAfter
			})).NoColumn().
			Doc("A good result that takes longer is slow, in seconds with up to 3 decimals; less than the timeout. "+
				"Not of heartbeats").Empty("none is").
			Form("Slow after", "Mark as slow above this response time. Default: off.", "800ms"),
		ofChecks(field.Integer("recovery_threshold", func(m *monitor.Monitor) *int {
			return &m.Check.RecoveryThreshold
		})).
			Nullable().Between(1, monitor.MaxRecoveryThreshold).NoColumn().
			Doc("Number of consecutive good results that end an outage. Not of heartbeats").Empty("1").
			Form("Recovery threshold", "Consecutive good results before it counts as up. Default: 1.", "1"),
		ofChecks(field.Integer("confirm_from", func(m *monitor.Monitor) *int { return &m.Check.ConfirmFrom })).
			Nullable().Between(1, monitor.MaxConfirmFrom).NoColumn().
			Doc("Number of locations (`ALLSWELL_LOCATION`) that must find the target failing in the same round "+
				"before a failure counts. Not of heartbeats").Empty("1").
			Form("Confirming locations", "Locations (ALLSWELL_LOCATION) that must agree on a failure. Default: 1.",
				"1"),
		field.Texts("secrets", func(m *monitor.Monitor) *[]string {
			return &m.Check.SecretFields
		}).ReadOnly().Audited().NoColumn().
			Doc("The names of the fields that have a secret. Secrets are never shown"),
		ofHeartbeats(field.Duration("max_runtime", monitor.MaxRuntime, func(m *monitor.Monitor) *time.Duration {
			return &m.MaxRuntime
		})).
			Nullable().AtLeast(time.Second).NullColumn().Typed().
			Doc("How long a run may take after its `start` before it counts as a failure. Runs that have begun keep "+
				"their limit").
			Empty("the grace or, without one, the interval").
			Form("Maximum duration",
				"For jobs that report the start of a run. Default: the grace period or, without one, the interval. "+
					"Set it for jobs that take longer.", "2h"),
		ofHeartbeats(field.Bool("publish_output", func(m *monitor.Monitor) *bool {
			return &m.PublishOutput
		})).NoFlag("no-publish-output").
			Doc("Whether the end of the output of a failed run is published with its incident").
			Form("Publish output of failed runs", "", "").Labels("yes, the last 1,000 characters", "no"),
		ofHeartbeats(field.Duration("min_runtime", monitor.MaxRuntime, func(m *monitor.Monitor) *time.Duration {
			return &m.MinRuntime
		})).
			Nullable().AtLeast(time.Second).NullColumn().Typed().
			Doc("How long a run that succeeds must take after its `start`, at most `max_runtime`").Empty("any time").
			Form("Minimum duration", "For jobs that report the start of a run. Default: none.", "30s"),
		ofHeartbeats(field.Integer("max_per_interval", func(m *monitor.Monitor) *int { return &m.MaxPerInterval })).
			Nullable().Between(1, monitor.MaxPerInterval).NullColumn().
			Doc("How many runs may begin within the interval, at any time or, with a cron schedule, between two due "+
				"times").Empty("any number").
			Form("Maximum runs per interval", "With a schedule, between two due times. Default: unlimited.", "2"),
		ofHeartbeats(field.Bool("no_overlap", func(m *monitor.Monitor) *bool {
			return &m.NoOverlap
		})).NoFlag("overlap").
			Doc("Whether a run that begins before the others have ended violates a condition").
			Form("Overlapping runs", "", ""),
		conditionAction(monitor.ConditionMaxRuntime, func(m *monitor.Monitor) *monitor.ConditionAction {
			return &m.MaxRuntimeAction
		}, "takes too long", "If exceeded",
			"fail: the monitor goes down. warn: only members and webhooks for warnings are notified."),
		conditionAction(monitor.ConditionMinRuntime, func(m *monitor.Monitor) *monitor.ConditionAction {
			return &m.MinRuntimeAction
		}, "is too short", "If shorter", ""),
		conditionAction(monitor.ConditionMaxPerInterval, func(m *monitor.Monitor) *monitor.ConditionAction {
			return &m.MaxPerIntervalAction
		}, "is one too many", "If exceeded", ""),
		conditionAction(monitor.ConditionNoOverlap, func(m *monitor.Monitor) *monitor.ConditionAction {
			return &m.NoOverlapAction
		}, "begins before the others have ended", "Overlapping runs", ""),
		field.Time("created_at", func(m *monitor.Monitor) *time.Time { return &m.CreatedAt }).ReadOnly(),
		field.Time("updated_at", func(m *monitor.Monitor) *time.Time { return &m.UpdatedAt }).ReadOnly(),
		field.Config(check.Fields(), checkConfig, setCheckConfig, ConfigureMonitor).Client("Check"),
	},
})

func monitorTypes() (all []field.Option) {
	for _, t := range check.MonitorTypes() {
		all = append(all, field.Of(t, ""))
	}
	return all
}

// ofHeartbeats says that only heartbeats have a field.
func ofHeartbeats(f *field.Field[monitor.Monitor]) *field.Field[monitor.Monitor] {
	return f.When(func(m *monitor.Monitor) bool { return !m.IsCheck() }, refuseForType)
}

// ofChecks says that only monitors whose targets are checked have a field.
func ofChecks(f *field.Field[monitor.Monitor]) *field.Field[monitor.Monitor] {
	// "": the type is wrong, and no other field is to be refused
	return f.When(func(m *monitor.Monitor) bool { return m.IsCheck() || m.Type == "" }, refuseForType)
}

func refuseForType(m *monitor.Monitor, name string, bad *kernel.ValidationError) {
	bad.Add(name, "A monitor of the type %s has no %s.", m.Type, kernel.Name(name))
}

// conditionAction returns the field of the reaction to a run that violates a condition. words say what such a run does,
// such as "takes too long".
func conditionAction(
	c monitor.Condition, at func(*monitor.Monitor) *monitor.ConditionAction, words, label, hint string,
) *field.Field[monitor.Monitor] {
	byDefault := monitor.RunConditions{}.Action(c)
	options := []field.Option{
		field.Of(monitor.ActionWarn, "warn"), field.Of(monitor.ActionDown, "fail"),
	}
	if byDefault == monitor.ActionDown {
		options[0], options[1] = options[1], options[0]
	}
	return ofHeartbeats(field.Choice(string(c)+"_action", at, options...)).Nullable().Plain().
		Default(func(m *monitor.Monitor, _ time.Time) { *at(m) = byDefault }).
		Doc("What happens when a run "+words).
		Form(label, hint, "")
}

func refuseSlowAfter(_ field.Info, d time.Duration, bad *kernel.ValidationError) {
	if d < time.Millisecond || d%time.Millisecond != 0 {
		monitor.AddSlowAfter(bad)
	}
}

func checkConfig(m *monitor.Monitor) configfield.Config {
	c := m.Check
	return configfield.Config{
		Type: string(m.Type), Shown: c.Config, Secrets: c.Secrets, SecretFields: c.SecretFields,
		Versions: m.SecretVersions,
	}
}

func setCheckConfig(m *monitor.Monitor, to configfield.Config) {
	m.Check.Config, m.Check.Secrets, m.Check.SecretFields = to.Shown, to.Secrets, to.SecretFields
}

// ConfigureMonitor returns the change of a monitor that sets given fields of its type: see configfield.Types.Change.
func ConfigureMonitor(given map[string]json.RawMessage, replace bool) field.Change[monitor.Monitor] {
	return func(m *monitor.Monitor) error {
		if m.Type == "" {
			return nil // only the type is wrong
		}
		return check.Change(m.Type, &m.Check, given, replace)
	}
}

// ResetMonitor gives a monitor the defaults of a type: the described defaults, and the defaults that depend on the
// type. It keeps what MonitorConfig.Reset keeps.
func ResetMonitor(m *monitor.Monitor, t monitor.MonitorType) {
	m.Reset(t)
	Monitor.SetDefaults(m)
}

// NewMonitor returns a monitor as a change makes it: up, and waiting for its first ping. Without a slug, a token or a
// down status, the store gives it one. The error is a *kernel.ValidationError with every invalid field.
func NewMonitor(change monitor.MonitorChange, now time.Time) (monitor.Monitor, error) {
	m := monitor.Monitor{MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp}}
	m.Reset(monitor.MonitorHeartbeat)
	Monitor.Begin(&m, kernel.NewID(kernel.PrefixMonitor, now), now)
	err := Monitor.Create(&m, func(m *monitor.Monitor) error {
		err := change(&m.MonitorConfig)
		m.Complete()
		return err
	}, now)
	return m, err
}

// ChangeMonitor applies a change to a monitor, and what follows from it for the status. A value that does not change is
// not refused: it stays, even if it would not be accepted today. The error is a *kernel.ValidationError with every
// invalid field; the monitor must not be used then.
func ChangeMonitor(m *monitor.Monitor, change monitor.MonitorChange, now time.Time) error {
	before := *m
	err := Monitor.Apply(m, func(m *monitor.Monitor) error {
		err := change(&m.MonitorConfig)
		switch m.Type {
		case "": // it could not be read, as err says
			m.Type = before.Type
		case before.Type:
		default:
			*m = before
			var bad kernel.ValidationError
			bad.Add("type", "The type of a monitor cannot be changed.")
			return bad.Err()
		}
		m.PageID = before.PageID // which follows from the slug
		m.Complete()
		return err
	}, now)
	m.UpdatedAt = before.UpdatedAt // the store knows what has changed, once it has resolved references
	if err == nil {
		m.Follow(before, now)
	}
	return err
}

// MonitorChange returns a change of a monitor as a change of its configuration.
func MonitorChange(change field.Change[monitor.Monitor]) monitor.MonitorChange {
	return func(c *monitor.MonitorConfig) error {
		m := monitor.Monitor{MonitorConfig: *c}
		err := change(&m)
		*c = m.MonitorConfig
		return err
	}
}

// exampleMonitor is a heartbeat that was never pinged.
var exampleMonitor = monitor.Monitor{
	ID: "mon_068vq2r4b1ccu5a0d3e1", CreatedAt: exampleDay, UpdatedAt: exampleDay,
	MonitorConfig: monitor.MonitorConfig{
		Type: monitor.MonitorHeartbeat, Slug: "nightly-backup", Name: "Nightly backup",
		Token: "4fR0sJk2vXw9QbT7yLm3NcZ8aHd5GpE1", Interval: 24 * time.Hour,
		Enabled: true, PageSlug: "acme", DownStatus: kernel.StatusPartialOutage, Tags: []string{"nightly", "prod"},
		RunConditions: monitor.RunConditions{}.WithDefaults(),
	},
	MonitorStatus: monitor.MonitorStatus{State: monitor.MonitorUp},
	MonitorDerived: monitor.MonitorDerived{
		EffectiveFailureThreshold: monitor.DefaultFailureThreshold,
		PingURL:                   "https://status.example.com/api/v1/heartbeat/4fR0sJk2vXw9QbT7yLm3NcZ8aHd5GpE1",
	},
}
