package alerting

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// alertScreen is the data of the template alert.
type alertScreen struct {
	*frame.Form // of a silence that was refused
	alertRow
	Timeline  []alertEntry // the oldest first
	Plans     []alertPlan
	CanEdit   bool
	CanRules  bool           // the visitor may see rules, channels and silences
	Monitor   bool           // the monitor still exists
	Silenced  time.Time      // until when silences hold it back; zero: none does, or no rule would notify anyone
	Durations []frame.Option // for how long its monitor can be silenced
}

// alertEntry is something that happened with an alert.
type alertEntry struct {
	At     time.Time
	Tone   string // "": neutral
	What   string
	Who    string // of a channel or a person
	Result string // details, such as why a message was not accepted; "": none
	Sent   time.Time
	Rule   string
	Until  time.Time // of a wait
}

// alertPlan is what a rule will do.
type alertPlan struct {
	Rule  string
	Steps []planLine
}

// newAlertPlan returns a plan as sentences. Consecutive repetitions are one line.
func newAlertPlan(p store.AlertPlan) alertPlan {
	plan := alertPlan{Rule: p.RuleName}
	for i, step := range p.Steps {
		if i > 0 {
			p.Held = ""
		}
		if i > 0 && step.Kind == alert.NoticeRepeated && p.Steps[i-1].Kind == alert.NoticeRepeated {
			plan.Steps[len(plan.Steps)-1].What += ", then " +
				kernel.FormatEvery(step.At.Sub(p.Steps[i-1].At).Truncate(time.Second))
			break
		}
		plan.Steps = append(plan.Steps, planLine{step.At, p.RuleName, stepText(step), capital(p.Held.Words())})
	}
	return plan
}

// noticeNames are the names of the kinds of notices on all screens.
var noticeNames = map[alert.NoticeKind]string{
	alert.NoticeOpened: "Opened", alert.NoticeRepeated: "Repeated", alert.NoticeEscalated: "Escalated",
	alert.NoticeAcknowledged: "Acknowledged", alert.NoticeResolved: "Resolved",
}

// noticeVerbs say that a channel was notified, before its name.
var noticeVerbs = map[alert.NoticeKind]string{
	alert.NoticeOpened: "Notified", alert.NoticeRepeated: "Repeated to", alert.NoticeEscalated: "Escalated to",
	alert.NoticeAcknowledged: "Sent acknowledgement to", alert.NoticeResolved: "Sent recovery to",
}

// noticeEntry returns the entry of a notice for a channel, with its outcome.
func noticeEntry(n store.AlertNotice) alertEntry {
	e := alertEntry{
		At: n.At, Who: n.ChannelName, What: noticeVerbs[n.Kind], Rule: n.RuleName, Sent: n.SentAt,
	}
	if n.Deleted {
		e.Who += " (deleted, " + typeName(n.ChannelType) + ")"
	}
	if n.FallbackFor != "" {
		e.Who += " (fallback for " + n.FallbackFor + ")"
	}
	switch {
	case !n.SentAt.IsZero():
		e.Tone = kernel.StatusOperational.Tone().Name
	case n.Failed:
		e.Tone, e.What, e.Result = kernel.StatusMajorOutage.Tone().Name, "Could not notify",
			"failed: "+n.Reason
	case n.Reason != "":
		e.Tone, e.What, e.Result = kernel.StatusDegraded.Tone().Name, "Notifying", "retrying: "+n.Reason
	default:
		e.What, e.Result = "Notifying", "pending"
	}
	return e
}

// alertTimeline returns the timeline of an alert, oldest first.
func alertTimeline(d store.AlertDetail) (all []alertEntry) {
	began := alertEntry{
		At: d.OpenedAt, Tone: alertTone(alert.Alert{Subject: d.Subject}), What: d.Name + " " + d.Event.Words(),
	}
	if d.Reason != "" {
		began.Result = d.Reason
	}
	all = append(all, began)
	for _, h := range d.Holds {
		e := alertEntry{At: h.At, What: capital(h.Reason.Words()), Rule: h.RuleName, Until: h.Until}
		switch {
		case h.Over && h.Until.Equal(d.AcknowledgedAt):
			e.What, e.Result = "Was "+h.Reason.Words(), "acknowledged"
		case h.Over && d.Event.Lasts() && h.Until.Equal(d.ResolvedAt):
			e.What, e.Result = "Was "+h.Reason.Words(), "resolved"
		case h.Over:
			e.What = "Was " + h.Reason.Words()
		}
		all = append(all, e)
	}
	for _, t := range d.Notices {
		all = append(all, noticeEntry(t))
	}
	if !d.AcknowledgedAt.IsZero() {
		all = append(all, alertEntry{
			At: d.AcknowledgedAt, Tone: kernel.StatusMaintenance.Tone().Name, Who: d.AcknowledgedBy,
			What: "Acknowledged by",
		})
	}
	if d.Event.Lasts() && !d.ResolvedAt.IsZero() {
		all = append(all, alertEntry{
			At: d.ResolvedAt, Tone: kernel.StatusOperational.Tone().Name, What: d.Outcome(), Result: d.EndReason,
		})
	}
	slices.SortStableFunc(all, func(a, b alertEntry) int { return cmp.Compare(a.At.UnixMilli(), b.At.UnixMilli()) })
	return all
}

// silenceDurations returns the durations for which the screen of an alert can silence its monitor; "tomorrow" ends in
// the morning in a zone.
func silenceDurations(zone *time.Location) []frame.Option {
	return []frame.Option{
		{Value: "1h", Label: "1 hour"}, {Value: "4h", Label: "4 hours"},
		{Value: "tomorrow", Label: "until tomorrow 8:00 (" + zone.String() + ")"},
	}
}

// silenceEnd returns the end of a silence with one of silenceDurations. ok is false for another duration.
func silenceEnd(how string, zone *time.Location, now time.Time) (time.Time, bool) {
	if how == "tomorrow" {
		local := now.In(zone)
		return time.Date(local.Year(), local.Month(), local.Day()+1, 8, 0, 0, 0, zone), true
	}
	d, err := time.ParseDuration(how)
	return now.Add(d), err == nil && slices.ContainsFunc(silenceDurations(zone), func(o frame.Option) bool {
		return o.Value == how
	})
}

// showAlert shows an alert with its timeline, and what the rules will do.
func (r *request) showAlert() error { return r.answerAlert(http.StatusOK, frame.NewForm(url.Values{})) }

func (r *request) answerAlert(status int, f *frame.Form) error {
	d, err := r.Store.Alert(r.Context(), r.Actor(), r.PathValue("alert"))
	if err != nil {
		return err
	}
	s := alertScreen{
		Form: f, alertRow: alertRow{Alert: d.Alert}, Timeline: alertTimeline(d),
		CanEdit:  r.May(rights.AlertAcknowledge),
		CanRules: r.May(rights.AlertRuleRead),
	}
	zone, err := r.zoneOfForm(d.PageSlug)
	if err != nil {
		return err
	}
	s.Durations = silenceDurations(zone)
	for _, p := range d.Plans {
		s.Plans = append(s.Plans, newAlertPlan(p))
	}
	if s.CanRules {
		silences, _, err := r.Store.Silences().List(r.Context(), r.Actor(), "", store.Filter{EndsAfter: r.Now()},
			store.Pagination{
				Page: 1, PerPage: alert.MaxSilences,
			})
		if err != nil {
			return err
		}
		if until := alert.SilencedUntil(silences, d.Subject, r.Now()); d.State() != alert.Resolved && len(d.Plans) > 0 {
			s.Silenced = until
		}
	}
	if d.MonitorID != "" {
		_, err := r.Store.Monitor(r.Context(), r.Actor(), d.MonitorID)
		s.Monitor = err == nil
	}
	return r.Show(status, "alert", d.Title(), s)
}

// acknowledgeAlert records that the visitor acknowledges an alert.
func (r *request) acknowledgeAlert() error {
	a, err := r.Store.AcknowledgeAlert(r.Context(), r.Actor(), r.PathValue("alert"))
	if err != nil {
		return err
	}
	return r.Redirect(alert.Path + "/" + a.ID)
}

// silenceAlert silences the monitor of an alert for a time.
func (r *request) silenceAlert() error {
	d, err := r.Store.Alert(r.Context(), r.Actor(), r.PathValue("alert"))
	if err != nil {
		return err
	}
	f := frame.NewForm(r.PostForm)
	zone, err := r.zoneOfForm(d.PageSlug)
	if err != nil {
		return err
	}
	end, ok := silenceEnd(f.Value("for"), zone, r.Now())
	if !ok || d.MonitorID == "" {
		f.Refuse("for", "Choose how long to silence the monitor.")
		return r.answerAlert(http.StatusUnprocessableEntity, f)
	}
	_, err = r.Store.Silences().Create(r.Context(), r.Actor(), "", func(s *alert.Silence) error {
		s.Monitors, s.EndsAt = []string{d.MonitorID}, end
		return nil
	})
	if f.Refused(err) {
		return r.answerAlert(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return r.Redirect(alert.Path + "/" + d.ID)
}

// zoneOf returns the time zone of a page, or UTC if there is no such page.
func (r *request) zoneOf(slug string) (*time.Location, error) {
	if slug == "" {
		return time.UTC, nil
	}
	page, err := r.Store.Page(r.Context(), r.Actor(), slug)
	if errors.Is(err, kernel.ErrNotFound) {
		return time.UTC, nil
	}
	return page.Location(), err
}
