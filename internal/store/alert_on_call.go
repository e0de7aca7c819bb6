package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store/database"
)

var onCallTable = newTable("on_call", resource.OnCall,
	column[alert.OnCall]{name: "workspace_id", at: func(o *alert.OnCall) any { return &o.WorkspaceID }, fixed: true},
	column[alert.OnCall]{name: "calendar_key", at: func(o *alert.OnCall) any { return &o.CalendarKey }, fixed: true},
	column[alert.OnCall]{name: "schedule", at: func(o *alert.OnCall) any { return scheduleOf{o} }})

var onCall = collection[alert.OnCall]{
	table:  onCallTable,
	prefix: alert.PrefixOnCall, order: `ORDER BY created_at, id`,
	parent: workspaceParent("on_call", alert.PrefixOnCall, rights.OnCallRead, rights.OnCallChange,
		func(o *alert.OnCall) *string {
			return &o.WorkspaceID
		}),
	begin: (*tx).beginOnCall, resolve: (*tx).resolveOnCall, allow: (*tx).allowOnCall, deletion: (*tx).onCallDeletion,
}

// OnCallSchedules returns the on-call schedules of workspaces. Lists begin with the oldest. A schedule that a rule
// names cannot be deleted.
func (s *Store) OnCallSchedules() Collection[alert.OnCall] {
	return Collection[alert.OnCall]{s: s, collection: onCall}
}

// OnCallCalendar returns the on-call schedule with a calendar key. It is for anyone who knows the key. It returns
// kernel.ErrNotFound if there is none.
func (s *Store) OnCallCalendar(ctx context.Context, key string) (alert.OnCall, error) {
	return read(ctx, s, func(c *session) (alert.OnCall, error) {
		return database.One(c.Session, onCallTable.scan,
			`SELECT `+onCallTable.selected+` FROM on_call WHERE calendar_key = $1`, key)
	})
}

// schedulesOf returns the on-call schedules of a workspace, the oldest first.
func (c *session) schedulesOf(workspaceID string) ([]alert.OnCall, error) {
	return database.Query(c.Session, onCallTable.scan,
		`SELECT `+onCallTable.selected+` FROM on_call WHERE workspace_id = $1 ORDER BY created_at, id`, workspaceID)
}

// beginOnCall makes the secret part of the address of the calendar feed.
func (t *tx) beginOnCall(_ kernel.Actor, o *alert.OnCall) error {
	o.CalendarKey = rand.Text()
	return nil
}

// resolveOnCall replaces the slugs of the channels of participants by their ids, and gives overrides ids that have
// none.
func (t *tx) resolveOnCall(_ kernel.Actor, before, o *alert.OnCall) (invalid error) {
	o.Participants = slices.Clone(o.Participants) // the stored schedule must not change
	for i := range o.Participants {
		p := &o.Participants[i]
		ids, missing, err := t.idsOf(presentChannels, o.WorkspaceID, p.ChannelIDs, nil)
		if err != nil {
			return err
		}
		if p.ChannelIDs = ids; missing != "" {
			name := cmp.Or(p.Name, fmt.Sprintf("number %d", i+1))
			invalid = withField(invalid, "participants", "The participant %s has a channel that does not exist: %s.",
				name, missing)
		}
	}
	o.IdentifyOverrides(before.Overrides, func() string { return kernel.NewID(alert.PrefixOverride, t.Now) })
	return invalid
}

// allowOnCall limits how many schedules a workspace has.
func (t *tx) allowOnCall(actor kernel.Actor, before, _ *alert.OnCall) error {
	if before != nil {
		return nil
	}
	return t.checkCount("on_call", actor.WorkspaceID, "on-call schedules", alert.MaxOnCall)
}

// onCallDeletion refuses the deletion of a schedule that a rule names.
func (t *tx) onCallDeletion(o alert.OnCall) (kernel.Auditable, error) {
	return resource.OnCall.Audited(o), t.checkUnused(o.WorkspaceID, o.ID)
}

// scheduleOf is the column with the contents of a schedule, as JSON that earlier versions can read.
type scheduleOf struct{ *alert.OnCall }

type scheduleJSON struct {
	Zone         string              `json:"zone"`
	HandOverDay  alert.Weekday       `json:"hand_over_day"`
	HandOverAt   alert.ClockTime     `json:"hand_over_at"`
	StartsOn     time.Time           `json:"starts_on"`
	Participants []alert.Participant `json:"participants,omitempty"`
	Overrides    []alert.Override    `json:"overrides,omitempty"`
}

// Scan sets the contents of the schedule.
func (s scheduleOf) Scan(src any) error {
	var text sql.NullString
	if err := text.Scan(src); err != nil {
		return err
	}
	var stored scheduleJSON
	err := json.Unmarshal([]byte(text.String), &stored)
	s.Zone, s.StartsOn = stored.Zone, stored.StartsOn
	s.HandOverDay, s.HandOverAt = stored.HandOverDay, stored.HandOverAt
	s.Participants, s.Overrides = stored.Participants, stored.Overrides
	return err
}

func (s scheduleOf) parameter() any {
	text, err := json.Marshal(scheduleJSON{
		s.Zone, s.HandOverDay, s.HandOverAt, s.StartsOn, s.Participants, s.Overrides,
	})
	if err != nil {
		panic(err) // texts and instants always marshal
	}
	return string(text)
}
