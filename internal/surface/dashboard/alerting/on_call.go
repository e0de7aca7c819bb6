package alerting

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// calendarWeeks is how many weeks the calendar of a schedule shows.
const calendarWeeks = 4

// onCallRow is an on-call schedule with who is on call.
type onCallRow struct {
	alert.OnCall
	Turns    []alert.Turn // from now on
	Problems []string
	Rules    []string // the names of the rules that need it
}

// Now returns the turn of the person on call; nil: nobody is on call.
func (o onCallRow) Now() *alert.Turn { return o.turn(0) }

// Next returns the turn after that.
func (o onCallRow) Next() *alert.Turn { return o.turn(1) }

func (o onCallRow) turn(i int) *alert.Turn {
	if i >= len(o.Turns) {
		return nil
	}
	return &o.Turns[i]
}

// onCallListScreen is the data of the template on_call_list.
type onCallListScreen struct {
	Schedules []onCallRow
	Pager     frame.Pager
	CanEdit   bool
}

// onCallRows returns schedules with their turns, problems and rules.
func (r *request) onCallRows(schedules ...alert.OnCall) (rows []onCallRow, err error) {
	rules, _, err := r.Store.AlertRules().List(r.Context(), r.Actor(), "", store.Filter{}, store.Pagination{
		Page: 1, PerPage: alert.MaxRules,
	})
	if err != nil {
		return nil, err
	}
	channels, err := r.channels()
	if err != nil {
		return nil, err
	}
	enabled := make(map[string]bool)
	for _, c := range channels {
		enabled[c.ID] = c.Enabled
	}
	now := r.Now()
	for _, o := range schedules {
		row := onCallRow{
			OnCall: o, Turns: o.Turns(now, now.AddDate(0, 0, 7*calendarWeeks)), Problems: o.Problems(enabled),
		}
		for _, rule := range rules {
			if rule.Enabled && slices.ContainsFunc(rule.Targets(), func(t alert.Target) bool {
				return slices.Contains(t.OnCallIDs, o.ID)
			}) {
				row.Rules = append(row.Rules, rule.Name)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// showOnCallList lists the on-call schedules with who is on call now and next.
func (r *request) showOnCallList() error {
	rows := frame.Pagination(r.URL.Query())
	schedules, total, err := r.Store.OnCallSchedules().List(r.Context(), r.Actor(), "", store.Filter{}, rows)
	if err != nil {
		return err
	}
	s := onCallListScreen{
		Pager:   frame.NewPager(frame.OnCallPath, url.Values{}, rows, len(schedules), total),
		CanEdit: r.May(rights.OnCallChange),
	}
	if s.Schedules, err = r.onCallRows(schedules...); err != nil {
		return err
	}
	return r.Show(http.StatusOK, "on_call_list", "On call", s)
}

// Clock formats an instant in the zone of the schedule, with the name of the zone.
func (o onCallRow) Clock(t time.Time) string {
	return t.In(o.Location()).Format("Mon 2 Jan 2006 15:04") + " (" + o.Zone + ")"
}

// onCallScreen is the data of the template on_call.
type onCallScreen struct {
	*frame.Form // of a new override
	Schedule    onCallRow
	Tag         string
	Weeks       [][]calendarDay
	Overrides   []shownOverride // the one that begins last first
	Who         frame.Field
	From        frame.Field
	Until       frame.Field
	Feed        string // URL of the calendar feed
	CanEdit     bool
}

// calendarDay is a day with who is on call.
type calendarDay struct {
	Day, Label  string // Label includes the month on its first day
	Past, Today bool
	Parts       []dayPart
}

// dayPart is a part of a day in which one participant is on call.
type dayPart struct {
	Name, From string // From is when the part begins; "": at midnight or before
	Hue        int    // of the participant
	Override   bool
}

// shownOverride is an override of a schedule.
type shownOverride struct {
	alert.Override
	Over     bool
	Replaced []alert.Turn // parts in which newer overrides count
	Whole    bool         // all of it is replaced
}

// onCallHues is the number of colors of participants.
const onCallHues = 6

// onCallCalendar returns calendarWeeks weeks from this week's Monday on, with who is on call when.
func onCallCalendar(o alert.OnCall, now time.Time) (weeks [][]calendarDay) {
	zone := o.Location()
	today := now.In(zone)
	monday := time.Date(today.Year(), today.Month(), today.Day()-(int(today.Weekday())+6)%7, 0, 0, 0, 0, zone)
	turns := o.Turns(monday, monday.AddDate(0, 0, 7*calendarWeeks))
	for i := range 7 * calendarWeeks {
		from, until := monday.AddDate(0, 0, i), monday.AddDate(0, 0, i+1)
		day := calendarDay{
			Day: from.Format("Mon"), Label: from.Format("2"), Past: !until.After(now),
			Today: from.Format(time.DateOnly) == today.Format(time.DateOnly),
		}
		if i == 0 || from.Day() == 1 {
			day.Label = from.Format("2 Jan")
		}
		for _, turn := range turns {
			if !turn.StartsAt.Before(until) || !turn.EndsAt.After(from) {
				continue
			}
			part := dayPart{Name: turn.Participant.Name, Override: turn.Override}
			part.Hue = slices.IndexFunc(o.Participants, func(p alert.Participant) bool {
				return p.Name == turn.Participant.Name
			}) % onCallHues
			if turn.StartsAt.After(from) {
				part.From = turn.StartsAt.In(zone).Format("15:04")
			}
			day.Parts = append(day.Parts, part)
		}
		if i%7 == 0 {
			weeks = append(weeks, nil)
		}
		weeks[len(weeks)-1] = append(weeks[len(weeks)-1], day)
	}
	return weeks
}

// showOnCall shows an on-call schedule with its calendar and its overrides.
func (r *request) showOnCall() error {
	o, err := r.Store.OnCallSchedules().Get(r.Context(), r.Actor(), "", r.PathValue("schedule"))
	if err != nil {
		return err
	}
	return r.answerOnCall(http.StatusOK,
		frame.NewForm(url.Values{"starts_at": {r.Now().In(o.Location()).Format(frame.ClockLayout)}}), o)
}

func (r *request) answerOnCall(status int, f *frame.Form, o alert.OnCall) error {
	rows, err := r.onCallRows(o)
	if err != nil {
		return err
	}
	o.Show(r.Now(), r.Base)
	s := onCallScreen{
		Form: f, Schedule: rows[0], Tag: f.Version("tag", kernel.EntityTag(resource.OnCall.Audited(o)), false),
		Weeks: onCallCalendar(o, r.Now()), Feed: o.CalendarURL, CanEdit: r.May(rights.OnCallChange),
	}
	for i, override := range o.Overrides {
		replaced := o.Replaced(i)
		rest := override.EndsAt.Sub(override.StartsAt)
		for _, part := range replaced {
			rest -= part.EndsAt.Sub(part.StartsAt)
		}
		s.Overrides = append(s.Overrides, shownOverride{override, override.Ended(r.Now()), replaced, rest == 0})
	}
	slices.SortStableFunc(s.Overrides, func(a, b shownOverride) int { return b.StartsAt.Compare(a.StartsAt) })
	who := frame.Field{Name: "participant", Label: "Who", Type: "select"}
	for _, p := range o.Participants {
		who.Options = append(who.Options, frame.Option{Value: p.Name, Label: p.Name})
	}
	s.Who = f.Draw(who)
	s.From = f.Draw(frame.Field{
		Name: "starts_at", Label: "From", Type: "datetime-local", Hint: "Time zone: " + o.Zone,
	})
	s.Until = f.Draw(frame.Field{Name: "ends_at", Label: "Until", Type: "datetime-local"})
	return r.Show(status, "on_call", o.Name, s)
}

// addOverride puts a participant on call for a time.
func (r *request) addOverride() error {
	o, err := r.Store.OnCallSchedules().Get(r.Context(), r.Actor(), "", r.PathValue("schedule"))
	if err != nil {
		return err
	}
	f := frame.NewForm(r.PostForm)
	override := alert.Override{
		Participant: f.Value("participant"), StartsAt: f.Moment("starts_at", o.Location(), r.Now()),
		EndsAt: f.Moment("ends_at", o.Location(), r.Now()),
	}
	if !f.HasErrors() && override.StartsAt.IsZero() {
		f.Refuse("starts_at", kernel.Required)
	}
	if !f.HasErrors() && override.EndsAt.IsZero() {
		f.Refuse("ends_at", kernel.Required)
	}
	if !f.HasErrors() && !override.EndsAt.After(override.StartsAt) {
		f.Refuse("ends_at", "must be after the %s", kernel.Name("starts_at"))
	}
	if !f.HasErrors() {
		err = r.changeOverrides(o, func(all []alert.Override) []alert.Override { return append(all, override) })
		if err != nil && !f.Refused(err) {
			return err
		}
	}
	if f.HasErrors() {
		return r.answerOnCall(http.StatusUnprocessableEntity, f, o)
	}
	return r.Redirect(frame.OnCallPath + "/" + o.ID)
}

// removeOverride deletes an override.
func (r *request) removeOverride() error {
	o, err := r.Store.OnCallSchedules().Get(r.Context(), r.Actor(), "", r.PathValue("schedule"))
	if err != nil {
		return err
	}
	id := r.PathValue("override")
	if err := r.changeOverrides(o, func(all []alert.Override) []alert.Override {
		return slices.DeleteFunc(all, func(o alert.Override) bool { return o.ID == id })
	}); err != nil {
		return err
	}
	return r.Redirect(frame.OnCallPath + "/" + o.ID)
}

// changeOverrides changes the overrides of a schedule, in the version that is stored when they are saved.
func (r *request) changeOverrides(o alert.OnCall, change func([]alert.Override) []alert.Override) error {
	_, err := r.Store.OnCallSchedules().Change(r.Context(), r.Actor(), "", o.ID, func(now *alert.OnCall) error {
		now.Overrides = change(slices.Clone(now.Overrides))
		return nil
	}, kernel.Precondition{})
	return err
}

// deleteOnCall deletes a schedule that no rule needs.
func (r *request) deleteOnCall() error {
	o, err := r.Store.OnCallSchedules().Get(r.Context(), r.Actor(), "", r.PathValue("schedule"))
	if err != nil {
		return err
	}
	f := frame.NewForm(onCallValues(o))
	err = r.Store.OnCallSchedules().Delete(r.Context(), r.Actor(), "", o.ID, kernel.Precondition{})
	if f.Refused(err) {
		return r.answerOnCallForm(http.StatusUnprocessableEntity, f, o, false)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.OnCallPath)
}

// showNewOnCall shows the form of a schedule.
func (r *request) showNewOnCall() error {
	zone, err := r.zoneOfForm("")
	if err != nil {
		return err
	}
	var o alert.OnCall
	resource.OnCall.Begin(&o, "", r.Now())
	o.Zone, o.HandOverDay = zone.String(), "mon"
	o.StartsOn = o.FirstDay(r.Now())
	return r.answerOnCallForm(http.StatusOK, frame.NewForm(onCallValues(o)), alert.OnCall{}, false)
}

// createOnCall creates a schedule.
func (r *request) createOnCall() error {
	f := frame.NewForm(r.PostForm)
	made, err := r.Store.OnCallSchedules().Create(r.Context(), r.Actor(), "",
		readOnCall(f, alert.OnCall{}, r.Now(), new([]alert.Override)))
	if f.Refused(err) {
		return r.answerOnCallForm(http.StatusUnprocessableEntity, f, alert.OnCall{}, false)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.OnCallPath + "/" + made.ID)
}

// showEditOnCall shows the form of a schedule, with its saved values.
func (r *request) showEditOnCall() error {
	o, err := r.Store.OnCallSchedules().Get(r.Context(), r.Actor(), "", r.PathValue("schedule"))
	if err != nil {
		return err
	}
	return r.answerOnCallForm(http.StatusOK, frame.NewForm(onCallValues(o)), o, false)
}

// editOnCall saves a schedule, unless somebody else has changed it since the form was shown.
func (r *request) editOnCall() error {
	f := frame.NewForm(r.PostForm)
	o, err := r.Store.OnCallSchedules().Get(r.Context(), r.Actor(), "", r.PathValue("schedule"))
	if err != nil {
		return err
	}
	var lost []alert.Override
	change := readOnCall(f, o, r.Now(), &lost)
	_, err = r.Store.OnCallSchedules().Change(r.Context(), r.Actor(), "", o.ID, func(now *alert.OnCall) error {
		err := change(now)
		if err == nil && len(lost) > 0 && f.Value(dropField) == "" {
			err = errOverridesLost
		}
		return err
	}, frame.UnchangedSince(f.Values))
	switch {
	case f.Refused(err), errors.Is(err, errOverridesLost):
		return r.answerOnCallForm(http.StatusUnprocessableEntity, f, o, false)
	case errors.Is(err, kernel.ErrPreconditionFailed):
		f.SavedMeanwhile = onCallValues(o)
		return r.answerOnCallForm(http.StatusConflict, f, o, true)
	case err != nil:
		return err
	}
	return r.Redirect(frame.OnCallPath + "/" + o.ID)
}

// errOverridesLost is returned for a change that would delete overrides without the confirmation dropField.
var errOverridesLost = errors.New("the change deletes overrides")

// readTrimmed returns the input of a field without the space around it.
func readTrimmed(f *frame.Form, name string) string { return strings.TrimSpace(f.Value(name)) }
