package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
)

// onCallRoutes are the routes of on-call schedules.
var onCallRoutes = []route{
	{"GET", "/api/v1/on-call", rights.OnCallRead, (*api).listOnCall, operation{
		id:      "listOnCall",
		summary: "List the on-call schedules, the oldest first.",
		returns: list("OnCall"),
	}},
	{"POST", "/api/v1/on-call", rights.OnCallChange, (*api).createOnCall, operation{
		id:      "createOnCall",
		summary: "Create an on-call schedule.",
		text: "Every week, at the same time of the clock, the next participant takes over. A workspace can have 50 " +
			"schedules.",
		returns: created("OnCall", "The schedule."),
	}},
	{"GET", "/api/v1/on-call/{onCallId}", rights.OnCallRead, (*api).getOnCall, operation{
		id:      "getOnCall",
		summary: "Get an on-call schedule with who is on call now and next.",
		returns: one("OnCall", "The schedule."),
	}},
	{"PATCH", "/api/v1/on-call/{onCallId}", rights.OnCallChange, (*api).changeOnCall, operation{
		id:      "changeOnCall",
		summary: "Change an on-call schedule; absent fields keep their values.",
		returns: one("OnCall", "The schedule."),
	}},
	{"DELETE", "/api/v1/on-call/{onCallId}", rights.OnCallChange, (*api).deleteOnCall, operation{
		id:      "deleteOnCall",
		summary: "Delete an on-call schedule.",
		text:    "If a rule needs it, that is 422.",
	}},
}

type onCallJSON struct {
	ID           string              `json:"id"`
	Slug         string              `json:"slug"`
	Name         string              `json:"name"`
	Zone         string              `json:"zone"`
	HandOverDay  alert.Weekday       `json:"hand_over_day"`
	HandOverAt   alert.ClockTime     `json:"hand_over_at"`
	StartsOn     string              `json:"starts_on"`
	Participants []alert.Participant `json:"participants"`
	Overrides    []overrideJSON      `json:"overrides"`
	Now          *string             `json:"now"` // null: nobody
	Next         []turnJSON          `json:"next"`
	CalendarURL  string              `json:"calendar_url"`
	CreatedAt    string              `json:"created_at"`
	UpdatedAt    string              `json:"updated_at"`
}

type overrideJSON struct {
	ID          string `json:"id"`
	Participant string `json:"participant"`
	StartsAt    string `json:"starts_at"`
	EndsAt      string `json:"ends_at"`
}

type turnJSON struct {
	Participant string `json:"participant"`
	StartsAt    string `json:"starts_at"`
	EndsAt      string `json:"ends_at"`
	Override    bool   `json:"override"`
}

// What is shown of the turns to come.
const (
	shownTurns      = 10
	shownTurnsUntil = 12 * 7 * 24 * time.Hour
)

// onCallPresenter returns the function that presents on-call schedules in the responses to a request.
func (a *api) onCallPresenter(c *call) func(alert.OnCall) onCallJSON {
	return func(o alert.OnCall) onCallJSON { return a.newOnCallJSON(o, c.base) }
}

func (a *api) newOnCallJSON(o alert.OnCall, base string) onCallJSON {
	out := onCallJSON{
		ID: o.ID, Slug: o.Slug, Name: o.Name, Zone: o.Zone, HandOverDay: o.HandOverDay, HandOverAt: o.HandOverAt, StartsOn: o.StartsOn.Format(time.DateOnly),
		Participants: append([]alert.Participant{}, o.Participants...), Overrides: []overrideJSON{}, Next: []turnJSON{}, CalendarURL: o.CalendarURL(base),
		CreatedAt: allswell.FormatTime(o.CreatedAt), UpdatedAt: allswell.FormatTime(o.UpdatedAt),
	}
	for _, v := range o.Overrides {
		out.Overrides = append(out.Overrides, overrideJSON{v.ID, v.Participant, allswell.FormatTime(v.StartsAt), allswell.FormatTime(v.EndsAt)})
	}
	now := a.now()
	for i, t := range o.Turns(now, now.Add(shownTurnsUntil)) {
		if i == 0 {
			out.Now = &t.Participant.Name
		}
		if i < shownTurns {
			out.Next = append(out.Next, turnJSON{t.Participant.Name, allswell.FormatTime(t.StartsAt), allswell.FormatTime(t.EndsAt), t.Override})
		}
	}
	return out
}

func (a *api) listOnCall(c *call) (store.Response, error) {
	return serveList(c, a.onCallPresenter(c), func(r store.Pagination) ([]alert.OnCall, int, error) {
		return a.store.OnCallSchedules(c.Context(), c.actor(), r)
	})
}

func (a *api) getOnCall(c *call) (store.Response, error) {
	o, err := a.store.OnCallSchedule(c.Context(), c.actor(), c.PathValue("onCallId"))
	return taggedResponse(c, o, err, a.onCallPresenter(c))
}

// readOnCall returns a function that sets the given fields of an on-call schedule. Its accessors are called at once.
func readOnCall(o *jsonobject.Object) func(*alert.OnCall) {
	name, zone := o.Text("name"), o.Text("zone")
	day := jsonobject.Enum(o, "hand_over_day", alert.Weekdays)
	var at *alert.ClockTime
	if o.Given("hand_over_at") {
		at = new(readClockTime(o, "hand_over_at"))
	}
	startsOn := readDate(o, "starts_on")
	participants, overrides := readParticipants(o), readOverrides(o)
	return func(s *alert.OnCall) {
		set(&s.Name, name)
		set(&s.Zone, zone)
		set(&s.HandOverDay, day)
		set(&s.HandOverAt, at)
		set(&s.StartsOn, startsOn)
		replace(o, "participants", &s.Participants, participants)
		replace(o, "overrides", &s.Overrides, overrides)
	}
}

// readDate reads a day as midnight UTC; nil: it is not given.
func readDate(o *jsonobject.Object, field string) *time.Time {
	text := o.Text(field)
	if text == nil {
		return nil
	}
	day, err := time.Parse(time.DateOnly, *text)
	if err != nil || day.Year() < 2000 || day.Year() > 2200 {
		o.Add(field, "must be a day such as 2026-11-21")
	}
	return &day
}

func readParticipants(o *jsonobject.Object) (all []alert.Participant) {
	for _, object := range o.Objects("participants", alert.MaxParticipants) {
		object.Require("name", "channel_ids")
		p := alert.Participant{Name: orZero(object.Text("name"))}
		setList(object, &p.ChannelIDs, "channel_ids")
		all = append(all, p)
	}
	return all
}

func readOverrides(o *jsonobject.Object) (all []alert.Override) {
	for i, object := range o.Objects("overrides", alert.MaxOverrides) {
		object.Require("participant", "starts_at", "ends_at")
		v := alert.Override{
			ID: orZero(object.Text("id")), Participant: orZero(object.Text("participant")), StartsAt: orZero(object.Instant("starts_at")), EndsAt: orZero(object.Instant("ends_at")),
		}
		if v.ID != "" && !allswell.ValidID(alert.PrefixOverride, v.ID) {
			o.Add(fmt.Sprintf("overrides.%d.id", i), "must be that of an override, or left out")
		}
		all = append(all, v)
	}
	return all
}

func (a *api) createOnCall(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("name")
	schedule := alert.OnCall{
		Zone: "UTC", HandOverDay: "mon", HandOverAt: 9 * 60,
	}
	readOnCall(o)(&schedule)
	if schedule.StartsOn.IsZero() {
		schedule.StartsOn = schedule.FirstDay(a.now())
	}
	schedule.Slug = orZero(o.Text("slug"))
	if o.Given("slug") && !allswell.ValidSlug(schedule.Slug) {
		o.Add("slug", "must have 1 to 63 characters: lower-case letters, digits and hyphens")
	}
	if err := o.Check(schedule.Validate(a.now(), nil)); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusCreated, a.onCallPresenter(c))
	return r.respond(a.store.CreateOnCall(c.Context(), c.actor(), schedule, r.save...))
}

func (a *api) changeOnCall(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	change := readOnCall(o)
	schedule, err := a.store.ChangeOnCall(c.Context(), c.actor(), c.PathValue("onCallId"), c.cond, func(s *alert.OnCall) error {
		before := s.Overrides
		change(s)
		return o.Check(s.Validate(a.now(), before))
	})
	return taggedResponse(c, schedule, err, a.onCallPresenter(c))
}

func (a *api) deleteOnCall(c *call) (store.Response, error) {
	return noContent(a.store.DeleteOnCall(c.Context(), c.actor(), c.PathValue("onCallId"), c.cond))
}

// setList sets a list to one that is given.
func setList[T ~string](o *jsonobject.Object, list *[]T, field string) {
	given := o.Texts(field)
	if given == nil {
		return
	}
	*list = nil
	for _, text := range given {
		*list = append(*list, T(text))
	}
}

// replace replaces a list if the request has it.
func replace[T any](o *jsonobject.Object, field string, list *[]T, given []T) {
	if o.Given(field) {
		*list = given
	}
}

// readClockTime reads a time of day. An invalid one is an error of o.
func readClockTime(o *jsonobject.Object, field string) (t alert.ClockTime) {
	if text := o.Text(field); text != nil {
		if err := t.UnmarshalText([]byte(*text)); err != nil {
			o.Add(field, "must be a time of day, such as 22:00")
		}
	}
	return t
}
