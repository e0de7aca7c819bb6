package alert

import (
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Limits of on-call schedules.
const (
	MaxOnCall       = 50  // schedules of a workspace
	MaxParticipants = 50  // of a schedule
	MaxOverrides    = 200 // of a schedule

	MaxOverrideLength     = 366 * 24 * time.Hour
	MaxOverrideYearsAhead = 5 // years until an override begins
)

// OnCall says who is on call. Every week at the same time of a clock the next participant takes over.
type OnCall struct {
	ID           string
	WorkspaceID  string
	Slug         string // unique in the workspace
	Name         string
	Zone         string // IANA name
	HandOverDay  Weekday
	HandOverAt   ClockTime
	StartsOn     time.Time // midnight UTC of the day whose week is the first participant's
	Participants []Participant
	Overrides    []Override
	CalendarKey  string // the secret part of the address of its calendar feed
	Now          string // for requests: who is on call; "": nobody
	Next         []Turn // for requests: the turns to come
	CalendarURL  string // for requests: the address of the calendar feed
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Participant is a person in the rotation.
type Participant struct {
	Name       string   `json:"name"` // unique in the schedule, in any case of its letters
	ChannelIDs []string `json:"channel_ids"`
}

// Override puts somebody on call for a time, in place of the participant whose turn it is. If several overlap, the one
// added last counts.
type Override struct {
	ID          string    `json:"id"`
	Participant string    `json:"participant"` // name
	StartsAt    time.Time `json:"starts_at"`
	EndsAt      time.Time `json:"ends_at"`
}

// same reports whether two overrides differ at most in their ids.
func (v Override) same(other Override) bool {
	return v.Participant == other.Participant && v.StartsAt.Equal(other.StartsAt) && v.EndsAt.Equal(other.EndsAt)
}

// IdentifyOverrides gives an id to each override without one: the id of an equal override in before, so that a request
// that omits the ids changes nothing, or else a new id.
func (o *OnCall) IdentifyOverrides(before []Override, newID func() string) {
	o.Overrides = slices.Clone(o.Overrides)
	for i := range o.Overrides {
		v := &o.Overrides[i]
		if v.ID != "" {
			continue
		}
		at := slices.IndexFunc(before, func(b Override) bool {
			return b.same(*v) && !slices.ContainsFunc(o.Overrides, func(other Override) bool {
				return other.ID == b.ID
			})
		})
		if at < 0 {
			v.ID = newID()
		} else {
			v.ID = before[at].ID
		}
	}
}

// Ended reports whether the override is over.
func (v Override) Ended(now time.Time) bool { return !v.EndsAt.After(now) }

func (v Override) covers(at time.Time) bool { return !at.Before(v.StartsAt) && at.Before(v.EndsAt) }

// Turn is a time during which a participant is on call without a break.
type Turn struct {
	Participant Participant
	StartsAt    time.Time
	EndsAt      time.Time
	Override    bool
}

// On returns who is on call at an instant. ok is false if there are no participants.
func (o OnCall) On(at time.Time) (p Participant, ok bool) {
	if len(o.Participants) == 0 {
		return p, false
	}
	if p, ok = o.overriding(o.Overrides, at); ok {
		return p, true
	}
	return o.Participants[o.turn(at)], true
}

// overriding returns who is on call at an instant by overrides. ok is false if none of them covers it. An override that
// has ended may name somebody who is no participant anymore, and is ignored.
func (o OnCall) overriding(overrides []Override, at time.Time) (p Participant, ok bool) {
	for _, v := range slices.Backward(overrides) {
		if v.covers(at) {
			if p, ok = o.participant(v.Participant); ok {
				return p, true
			}
		}
	}
	return p, false
}

// Replaced returns the parts of the override at an index that newer overrides replace, in order.
func (o OnCall) Replaced(index int) (parts []Turn) {
	v, newer := o.Overrides[index], o.Overrides[index+1:]
	borders := []time.Time{v.StartsAt, v.EndsAt}
	for _, n := range newer {
		for _, border := range []time.Time{n.StartsAt, n.EndsAt} {
			if border.After(v.StartsAt) && border.Before(v.EndsAt) {
				borders = append(borders, border)
			}
		}
	}
	slices.SortFunc(borders, time.Time.Compare)
	for i, from := range borders[:len(borders)-1] {
		until := borders[i+1]
		p, ok := o.overriding(newer, from)
		switch n := len(parts); {
		case !ok || from.Equal(until):
		case n > 0 && parts[n-1].Participant.Name == p.Name && parts[n-1].EndsAt.Equal(from):
			parts[n-1].EndsAt = until
		default:
			parts = append(parts, Turn{p, from, until, true})
		}
	}
	return parts
}

// turn returns the index of the participant whose turn it is by the weekly rotation.
func (o OnCall) turn(at time.Time) int {
	weeks := o.week(at) - o.week(o.handOver(o.StartsOn.Year(), o.StartsOn.Month(), o.StartsOn.Day()))
	n := len(o.Participants)
	return ((weeks % n) + n) % n
}

// FirstDay returns the StartsOn of a schedule whose first participant is on call at an instant: the day of the instant,
// or the day before if the day's hand-over is still to come.
func (o OnCall) FirstDay(at time.Time) time.Time {
	year, month, day := at.In(o.Location()).Date()
	if o.week(o.handOver(year, month, day)) > o.week(at) {
		day--
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// week returns the number of weeks from a fixed hand-over to the latest one that is not after an instant.
func (o OnCall) week(at time.Time) int {
	last := o.lastHandOver(at)
	day := time.Date(last.Year(), last.Month(), last.Day(), 0, 0, 0, 0, time.UTC)
	// all hand-overs are on the same day of the week, so every week has its own number
	return int(day.Unix() / (7 * 24 * 60 * 60))
}

// lastHandOver returns the latest hand-over that is not after an instant.
func (o OnCall) lastHandOver(at time.Time) time.Time {
	local := at.In(o.Location())
	back := (int(local.Weekday()) + 6 - slices.Index(Weekdays, o.HandOverDay)) % 7
	if found := o.handOver(local.Year(), local.Month(), local.Day()-back); !found.After(at) {
		return found
	}
	return o.handOver(local.Year(), local.Month(), local.Day()-back-7)
}

func (o OnCall) handOver(year int, month time.Month, day int) time.Time {
	return o.HandOverAt.on(year, month, day, o.Location())
}

// Location returns the time zone of the schedule.
func (o OnCall) Location() *time.Location {
	zone, err := kernel.LoadZone(o.Zone)
	if err != nil {
		return time.UTC // it was valid when it was saved
	}
	return zone
}

// nextHandOver returns the hand-over after an instant.
func (o OnCall) nextHandOver(at time.Time) time.Time {
	last := o.lastHandOver(at)
	return o.handOver(last.Year(), last.Month(), last.Day()+7)
}

// Turns returns who is on call from one instant until another, in order and without breaks.
func (o OnCall) Turns(from, until time.Time) (turns []Turn) {
	if len(o.Participants) == 0 {
		return nil
	}
	for at := from; at.Before(until); {
		end := o.nextHandOver(at)
		for _, v := range o.Overrides {
			for _, border := range []time.Time{v.StartsAt, v.EndsAt} {
				if border.After(at) && border.Before(end) {
					end = border
				}
			}
		}
		if end.After(until) {
			end = until
		}
		p, override := o.overriding(o.Overrides, at)
		if !override {
			p = o.Participants[o.turn(at)]
		}
		if n := len(turns); n > 0 && turns[n-1].Participant.Name == p.Name && turns[n-1].Override == override {
			turns[n-1].EndsAt = end
		} else {
			turns = append(turns, Turn{p, at, end, override})
		}
		at = end
	}
	return turns
}

func (o OnCall) participant(name string) (Participant, bool) {
	i := slices.IndexFunc(o.Participants, func(p Participant) bool { return strings.EqualFold(p.Name, name) })
	if i < 0 {
		return Participant{}, false
	}
	return o.Participants[i], true
}

// Check adds the problems of participants and overrides to bad. before are the overrides that the schedule already
// has: overrides that have ended may still name former participants, and new ones must not have ended. The store checks
// that the channels exist.
func (o OnCall) Check(bad *kernel.ValidationError, now time.Time, before []Override) {
	if len(o.Participants) > MaxParticipants {
		bad.Add("participants", "may have at most %d items", MaxParticipants)
	}
	names := make(map[string]bool)
	for _, p := range o.Participants {
		var of kernel.ValidationError
		kernel.CheckLine(&of, "participants", p.Name, kernel.MaxNameLength)
		name := strings.ToLower(p.Name)
		if of.Err() != nil || names[name] || len(p.ChannelIDs) == 0 || len(p.ChannelIDs) > MaxTargets {
			bad.Add("participants",
				"Each of the participants must have a unique name of at most %d characters, and 1 to %d channels.",
				kernel.MaxNameLength, MaxTargets)
			break
		}
		names[name] = true
	}
	if len(o.Overrides) > MaxOverrides {
		bad.Add("overrides", "may have at most %d items", MaxOverrides)
	}
	o.checkOverrides(bad, now, before)
}

// checkOverrides adds a message on the first override that is invalid.
func (o OnCall) checkOverrides(bad *kernel.ValidationError, now time.Time, before []Override) {
	for _, v := range o.Overrides {
		_, named := o.participant(v.Participant)
		var old Override // zero: it is new
		if i := slices.IndexFunc(before, func(b Override) bool { return b.ID == v.ID }); i >= 0 {
			old = before[i]
		}
		moved := !v.StartsAt.Equal(old.StartsAt) || !v.EndsAt.Equal(old.EndsAt)
		switch {
		case !named && (old.ID == "" || old.Participant != v.Participant):
			bad.Add("overrides", "Each of the overrides must name a participant; %q is none.",
				kernel.OneLine(v.Participant))
			return
		case v.StartsAt.IsZero() || !v.EndsAt.After(v.StartsAt):
			bad.Add("overrides", "Each of the overrides must have a start, and end after it.")
			return
		case old.ID == "" && v.Ended(now):
			bad.Add("overrides", "A new override must end in the future.")
			return
		case moved && v.EndsAt.Sub(v.StartsAt) > MaxOverrideLength:
			bad.Add("overrides", "An override may last at most %d days.", MaxOverrideLength/(24*time.Hour))
			return
		case moved && v.StartsAt.After(now.AddDate(MaxOverrideYearsAhead, 0, 0)):
			bad.Add("overrides", "An override may begin at most %d years ahead.", MaxOverrideYearsAhead)
			return
		case !named && !v.Ended(now):
			bad.Add("overrides", "%q has an override until %s; delete it first.", v.Participant,
				v.EndsAt.In(o.Location()).Format("2006-01-02 15:04 -07:00"))
			return
		}
	}
}

// Problems returns sentences about why rules that name the schedule may notify nobody. enabled has the ids of the
// channels that can be notified.
func (o OnCall) Problems(enabled map[string]bool) (problems []string) {
	if len(o.Participants) == 0 {
		return []string{"No one is on call, because there are no participants."}
	}
	for _, p := range o.Participants {
		if !slices.ContainsFunc(p.ChannelIDs, func(id string) bool { return enabled[id] }) {
			problems = append(problems, p.Name+" has no channel that is enabled, and is not notified while on call.")
		}
	}
	return problems
}

// Limits of the turns in Next.
const (
	shownTurns      = 10
	shownTurnsUntil = 12 * 7 * 24 * time.Hour
)

// Show sets the fields for requests as of an instant. base is the base URL of the service.
func (o *OnCall) Show(now time.Time, base string) {
	o.Now, o.CalendarURL = "", base+CalendarPath+"?key="+o.CalendarKey
	if o.Next = o.Turns(now, now.Add(shownTurnsUntil)); len(o.Next) > 0 {
		o.Now, o.Next = o.Next[0].Participant.Name, o.Next[:min(len(o.Next), shownTurns)]
	}
}
