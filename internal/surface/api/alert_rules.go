package api

import (
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var alertRuleRoutes = append(resourceActions[alert.Rule]{
	Resource: resource.AlertRule, objects: (*store.Store).AlertRules, id: "ruleId", reading: rights.AlertRuleRead,
	changing: rights.AlertRuleChange, deletion: "Only messages that already wait for a channel are still sent.",
}.routes(
	operation{summary: "List the rules that say whom which alerts notify, the oldest first."},
	operation{
		summary: "Create a rule for alerts that begin afterwards.",
		text: "An empty list of `pages`, `monitors`, `tags` or `severities` does not limit the rule; otherwise one " +
			"of the values must match. It must have `channel_ids` or `on_call_ids`. A workspace can have 200 rules, " +
			"each with a name of its own. A rule that is changed continues with the alerts that it has begun with.",
	}), []route{
	{"POST", "/api/v1/alert-rules/test", rights.AlertRuleRead, (*api).testAlertRules, operation{
		id:      "testAlertRules",
		summary: "Show who would be notified of an event, when and why. Nothing is sent.",
		text: "This applies unless the alert is acknowledged or resolved, or the configuration is changed. " +
			"There are up to 50 steps of a rule, and fewer, but at least 10, if more than 40 rules match. Two " +
			"forecasts at a time are made; others are answered 503 with `Retry-After`. It takes a token with the " +
			"scope `read`.",
		returns:   one("AlertForecast", "What each rule would do."),
		rehearsal: true,
	}},
}...)

type alertForecastJSON struct {
	Event     alert.Event        `json:"event"`
	MonitorID *string            `json:"monitor_id"`
	PageID    *string            `json:"page_id"`
	Severity  kernel.Impact      `json:"severity"`
	At        string             `json:"at"`
	Rules     []ruleForecastJSON `json:"rules"`
}

type ruleForecastJSON struct {
	ID      string             `json:"id"`
	Name    string             `json:"name"`
	Matches bool               `json:"matches"`
	Differs *string            `json:"differs"`
	Reason  *string            `json:"reason"`
	Repeat  *forecastRepeat    `json:"repeat"`
	Steps   []forecastStepJSON `json:"steps"`
}

// forecastRepeat is the repetition of an alert. The steps of a forecast contain only its beginning.
type forecastRepeat struct {
	Every int64 `json:"every"` // seconds
	Times int   `json:"times"` // at most
}

type forecastStepJSON struct {
	At       string                `json:"at"`
	Kind     *alert.NoticeKind     `json:"kind"`
	Held     *alert.HoldReason     `json:"held"`
	Channels []forecastChannelJSON `json:"channels"`
	Disabled []channelNameJSON     `json:"disabled"`
	Informed []channelNameJSON     `json:"informed"`
}

type forecastChannelJSON struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	OnCall    *string           `json:"on_call"`
	Fallbacks []channelNameJSON `json:"fallbacks"`
}

type channelNameJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func newAlertForecastJSON(f store.AlertForecast) alertForecastJSON {
	out := alertForecastJSON{
		Event: f.Subject.Event, MonitorID: optional.Ptr(f.Subject.MonitorID), PageID: optional.Ptr(f.Subject.PageID),
		Severity: f.Subject.Severity, At: kernel.FormatTime(f.At), Rules: []ruleForecastJSON{},
	}
	for _, r := range f.Rules {
		rule := ruleForecastJSON{
			ID: r.Rule.ID, Name: r.Rule.Name, Matches: r.Differs == "", Differs: optional.Ptr(r.Differs),
			Reason: optional.Ptr(r.Reason),
		}
		if r.Repeats {
			rule.Repeat = &forecastRepeat{int64(r.Rule.Repeat / time.Second), alert.MaxRepeats}
		}
		rule.Steps = newForecastStepsJSON(r.Steps)
		out.Rules = append(out.Rules, rule)
	}
	return out
}

func newForecastStepsJSON(steps []store.ForecastStep) []forecastStepJSON {
	all := []forecastStepJSON{}
	for _, s := range steps {
		step := forecastStepJSON{
			At: kernel.FormatTime(s.At), Kind: optional.Ptr(s.Kind), Held: optional.Ptr(s.Held),
			Channels: []forecastChannelJSON{}, Disabled: newChannelNamesJSON(s.Disabled),
			Informed: newChannelNamesJSON(s.Informed),
		}
		for _, ch := range s.Channels {
			step.Channels = append(step.Channels, forecastChannelJSON{
				ch.ChannelID, ch.Name, optional.Ptr(ch.Participant), newChannelNamesJSON(ch.Fallbacks),
			})
		}
		all = append(all, step)
	}
	return all
}

func newChannelNamesJSON(channels []store.ChannelName) []channelNameJSON {
	all := []channelNameJSON{}
	for _, ch := range channels {
		all = append(all, channelNameJSON(ch))
	}
	return all
}

// testAlertRules returns who would be notified of an event. It changes nothing.
func (a *api) testAlertRules(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("event")
	q := store.AlertQuestion{
		Event: optional.Value(jsonobject.Enum(o, "event", alert.Events)), Monitor: optional.Value(o.Text("monitor")),
		Page: optional.Value(o.Text("page")), Tags: o.Texts("tags"),
		Severity: optional.Value(jsonobject.Enum(o, "severity", kernel.Impacts)), At: optional.Value(o.Instant("at")),
	}
	if err := o.Check(nil); err != nil {
		return store.Response{}, err
	}
	f, err := a.store.ForecastAlert(c.Context(), c.actor(), q)
	return resourceResponse(f, err, newAlertForecastJSON)
}
