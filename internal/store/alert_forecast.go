package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store/database"
)

// Limits of forecasts. They take a processor, which pings need too.
const (
	maxForecasts     = 2 // at the same time, of this process, and of different workspaces
	waitingForecasts = 16
	forecastWait     = 2 * time.Second // for one of them
	maxForecastSteps = 2000            // of all rules together, if each has minForecastSteps
	minForecastSteps = 10              // of a rule
)

// AlertQuestion is an event that may happen.
type AlertQuestion struct {
	Event    alert.Event
	Monitor  string        // id or slug; "": it is about no monitor
	Page     string        // id or slug; "": the monitor's page, or none
	Tags     []string      // nil: the monitor's tags
	Severity kernel.Impact // "": the event's severity; for an outage of no monitor in particular, critical
	At       time.Time     // zero: now
}

// AlertForecast says who would be notified of an event.
type AlertForecast struct {
	Subject alert.Subject
	At      time.Time
	Rules   []RuleForecast // of all rules of the workspace, the oldest first
}

// RuleForecast is the forecast of one rule.
type RuleForecast struct {
	Rule    alert.Rule
	Differs string // which of its fields does not match: see alert.Rule.Matches; "": it matches
	Reason  string // why it does not match, as a sentence; "": it matches
	// it repeats the alert every Rule.Repeat until it is acknowledged, at most alert.MaxRepeats times
	Repeats bool
	Steps   []ForecastStep
}

// ForecastStep is a step of a forecast with its channels.
type ForecastStep struct {
	alert.ForecastStep
	Channels []ForecastChannel // channels that are notified
	Disabled []ChannelName     // channels that would be notified if they were enabled
	Informed []ChannelName     // channels that are not notified, because another rule has notified them by then
}

// ForecastChannel is a channel that would be notified.
type ForecastChannel struct {
	alert.Recipient
	Name      string
	Fallbacks []ChannelName // which are notified, in this order, of what the channel does not accept
}

// ChannelName is a channel with its name.
type ChannelName struct{ ID, Name string }

// ForecastAlert says who would be notified of an event, when and why, and changes nothing. The error is a
// *kernel.ValidationError if there is no such monitor or page, and kernel.ErrBusy while too many forecasts are made.
func (s *Store) ForecastAlert(ctx context.Context, actor kernel.Actor, q AlertQuestion) (AlertForecast, error) {
	end, ok := s.forecasts.Within(ctx, forecastWait, fair.Workspace(actor.WorkspaceID))
	if !ok {
		return AlertForecast{}, cmp.Or(ctx.Err(), kernel.ErrBusy)
	}
	defer end()
	return read(ctx, s, func(c *session) (f AlertForecast, err error) {
		if err := rights.AlertRuleRead.CheckLimit(actor); err != nil {
			return f, err
		}
		if f.At = q.At; f.At.IsZero() {
			f.At = c.Now
		}
		if f.Subject, err = c.subjectOf(actor.WorkspaceID, q); err != nil {
			return f, err
		}
		cfg, err := c.alertConfiguration(actor.WorkspaceID, f.At)
		if err != nil {
			return f, err
		}
		if err := c.summarizeRules(cfg.rules); err != nil {
			return f, err
		}
		a := alert.Alert{WorkspaceID: actor.WorkspaceID, Subject: f.Subject, OpenedAt: f.At}
		if !q.Event.Lasts() {
			a.ResolvedAt = f.At
		}
		notifyAt, err := c.notifyAlertAt(a)
		if err != nil {
			return f, err
		}
		matching := 0
		for _, r := range cfg.rules {
			found := RuleForecast{Rule: r}
			if _, found.Differs = r.Matches(f.Subject); found.Differs == "" {
				matching++
			}
			f.Rules = append(f.Rules, found)
		}
		limit := max(minForecastSteps, min(alert.MaxForecast, maxForecastSteps/max(1, matching)))
		for i := range f.Rules {
			if found := &f.Rules[i]; found.Differs == "" {
				found.Steps = cfg.forecast(found.Rule, a, notifyAt, limit)
				found.Repeats = found.Rule.Repeat > 0 && q.Event.Lasts()
			}
		}
		f.skipInformed()
		return f, c.explainDifferences(actor.WorkspaceID, f)
	})
}

// forecast returns at most limit steps of a rule after the beginning of an alert. notifyAt is the result of
// notifyAlertAt.
func (cfg alertConfiguration) forecast(
	r alert.Rule, a alert.Alert, notifyAt time.Time, limit int,
) (steps []ForecastStep) {
	begun := r.Begin(a, notifyAt)
	if begun.Flapping {
		steps = append(steps, ForecastStep{
			ForecastStep: alert.ForecastStep{At: a.OpenedAt, Held: alert.HeldByFlapping},
		})
	}
	for _, step := range r.ForecastFrom(begun, a, cfg.silences, cfg.schedules, limit) {
		steps = append(steps, cfg.withChannels(step))
	}
	return steps
}

func (f AlertForecast) skipInformed() {
	steps := make(map[string][]ForecastStep)
	for _, r := range f.Rules {
		steps[r.Rule.ID] = r.Steps
	}
	skipInformed(steps, make(map[string]bool))
}

// skipInformed removes channels from the steps of rules about an alert, as addNotices does: no channel gets two notices
// that the alert is open, nor two equal notices at the same time. steps has the steps of all rules, by the ids of the
// rules. notified has the ids of the channels that were notified of the alert before; the channels of the steps are
// added. Rules that are due at the same time are asked in the order of their ids: see askRules.
func skipInformed(steps map[string][]ForecastStep, notified map[string]bool) {
	var all []*ForecastStep
	for _, id := range slices.Sorted(maps.Keys(steps)) {
		for i := range steps[id] {
			all = append(all, &steps[id][i])
		}
	}
	type notice struct {
		channelID string
		kind      alert.NoticeKind
		at        int64
	}
	known := make(map[notice]bool)
	slices.SortStableFunc(all, func(a, b *ForecastStep) int { return a.At.Compare(b.At) })
	for _, step := range all {
		step.Channels = slices.DeleteFunc(step.Channels, func(ch ForecastChannel) bool {
			this := notice{ch.ChannelID, step.Kind, step.At.UnixMilli()}
			informed := known[this] || step.Kind == alert.NoticeOpened && notified[ch.ChannelID]
			if informed {
				step.Informed = append(step.Informed, ChannelName{ch.ChannelID, ch.Name})
			}
			known[this], notified[ch.ChannelID] = true, true
			return informed
		})
	}
}

// explainDifferences sets the Reason of the rules of a forecast that do not match.
func (c *session) explainDifferences(workspaceID string, f AlertForecast) error {
	ids := []string{f.Subject.PageID}
	for _, r := range f.Rules {
		ids = slices.Concat(ids, r.Rule.Pages, r.Rule.Monitors)
	}
	names, err := c.namesOf(workspaceID, ids, "pages", "monitors")
	for i := range f.Rules {
		f.Rules[i].Reason = f.Rules[i].Rule.Difference(f.Subject, names)
	}
	return err
}

// configuredChannel is a channel that rules may notify.
type configuredChannel struct {
	ChannelName
	enabled  bool
	fallback string // id; "": none
}

// configuredChannels returns the channels of a workspace by their ids.
func (c *session) configuredChannels(workspaceID string) (map[string]configuredChannel, error) {
	channels := make(map[string]configuredChannel)
	_, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var ch configuredChannel
		if err = row.Scan(&ch.ID, &ch.Name, &ch.enabled, text{&ch.fallback}); err == nil {
			channels[ch.ID] = ch
		}
		return
	}, `SELECT id, name, enabled, fallback_id FROM alert_channels WHERE workspace_id = $1 AND deleted_at IS NULL`,
		workspaceID)
	return channels, err
}

// withChannels returns a step with the channels of its recipients and their fallbacks. A disabled channel is not
// notified, and neither is its fallback.
func (cfg alertConfiguration) withChannels(s alert.ForecastStep) ForecastStep {
	step := ForecastStep{ForecastStep: s}
	for _, r := range s.Recipients {
		ch, exists := cfg.channels[r.ChannelID]
		if !exists {
			continue
		}
		if !ch.enabled {
			step.Disabled = append(step.Disabled, ch.ChannelName)
			continue
		}
		found := ForecastChannel{Recipient: r, Name: ch.Name}
		for next := cfg.channels[ch.fallback]; next.enabled; next = cfg.channels[next.fallback] {
			if next.ID == r.ChannelID || slices.Contains(found.Fallbacks, next.ChannelName) {
				break // earlier versions accepted fallbacks that lead back
			}
			found.Fallbacks = append(found.Fallbacks, next.ChannelName)
		}
		step.Channels = append(step.Channels, found)
	}
	return step
}

// subjectOf returns the subject of the alert of an event.
func (c *session) subjectOf(workspaceID string, q AlertQuestion) (s alert.Subject, err error) {
	var bad kernel.ValidationError
	if alert.CheckTags(&bad, q.Tags); len(q.Tags) > alert.MaxFilter {
		bad.Add("tags", "may have at most %d items", alert.MaxFilter)
	}
	if q.Monitor != "" {
		id, err := c.objectID("monitors", workspaceID, q.Monitor)
		if err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return s, err
		}
		if err != nil {
			bad.Add("monitor", "does not exist")
		} else {
			subjects, err := c.monitorSubjects([]string{id})
			if err != nil {
				return s, err
			}
			s = subjects[id]
		}
	}
	if q.Page != "" {
		s.PageSlug = ""
		if s.PageID, err = c.objectID("pages", workspaceID, q.Page); errors.Is(err, kernel.ErrNotFound) {
			bad.Add("page", "does not exist")
		} else if err != nil {
			return s, err
		}
	}
	s.Event = q.Event
	if q.Monitor == "" {
		s.Severity = kernel.ImpactCritical // the severity of an outage depends on the monitor; assume the highest
	}
	s.Severity = s.Event.Severity(s.Severity)
	if q.Severity != "" {
		s.Severity = q.Severity
	}
	if q.Tags != nil {
		s.Tags = q.Tags
	}
	return s, bad.Err()
}

// objectID returns the id of an object of a workspace in a table, given its id or slug.
func (c *session) objectID(table, workspaceID, ref string) (string, error) {
	return database.One(c.Session, database.ScanString,
		`SELECT id FROM `+table+` WHERE workspace_id = $1 AND `+refColumn(ref)+` = $2`, workspaceID, ref)
}
