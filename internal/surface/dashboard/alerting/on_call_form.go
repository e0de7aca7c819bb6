package alerting

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	fields "github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// onCallFormScreen is the data of the template on_call_form.
type onCallFormScreen struct {
	*frame.Form
	ID        string // "": a new schedule
	Path, Tag string
	Fields    []frame.Field
	Rows      []participantRow
	Conflict  bool
	NoChannel bool // there is no channel yet
	Lost      []lostOverride
	LostFocus bool
}

// lostOverride is an override that is deleted together with its participant.
type lostOverride struct{ Participant, From, Until string }

// dropField is the field that confirms the deletion of overrides of participants who are removed.
const dropField = "drop_overrides"

// participantRow is the part of the form for one participant.
type participantRow struct {
	Number, Prefix, Was string
	Name, Turn          frame.Field
	Channels            frame.Field
}

// blankRows is how many participants a form offers to add.
const blankRows = 2

// weekdayOptions are the days of the week, to choose from.
func weekdayOptions() []frame.Option { return frame.FieldOf(resource.QuietHours.Info("days")).Options }

// onCallValues returns the values of the form of a schedule.
func onCallValues(o alert.OnCall) url.Values {
	values := resource.OnCall.FormValues(o, time.UTC)
	values.Set("rows", strconv.Itoa(len(o.Participants)+blankRows))
	for i, p := range o.Participants {
		prefix := rowPrefix(i)
		values[prefix+"name"], values[prefix+"was"], values[prefix+"turn"], values[prefix+
			"channels"] = []string{p.Name},
			[]string{p.Name}, []string{strconv.Itoa(i + 1)}, p.ChannelIDs
	}
	return values
}

func rowPrefix(i int) string { return fmt.Sprintf("participants.%d.", i) }

// participantRows returns the number of rows for participants in the form.
func participantRows(f *frame.Form) int {
	n, err := strconv.Atoi(f.Value("rows"))
	if err != nil {
		n = blankRows
	}
	return min(max(n, 1), alert.MaxParticipants+blankRows)
}

// readOnCall returns the change of a schedule that the form describes. The change sets lost to the overrides that it
// removes together with their participants.
func readOnCall(f *frame.Form, before alert.OnCall, now time.Time, lost *[]alert.Override) fields.Change[alert.OnCall] {
	read := resource.OnCall.ReadForm(before, f.Values, time.UTC, now)
	return func(o *alert.OnCall) error {
		*lost = fillParticipants(f, o, now)
		return read(o)
	}
}

// fillParticipants sets the participants, and returns the overrides that it removes together with them. Overrides of
// renamed participants, and overrides that have ended, are kept.
func fillParticipants(f *frame.Form, o *alert.OnCall, now time.Time) (lost []alert.Override) {
	type row struct {
		alert.Participant
		turn float64
	}
	var rows []row
	names := make(map[string]string) // by what they were
	for i := range participantRows(f) {
		prefix := rowPrefix(i)
		name := readTrimmed(f, prefix+"name")
		if name == "" {
			continue
		}
		turn, err := strconv.ParseFloat(f.Value(prefix+"turn"), 64)
		if err != nil {
			turn = float64(i + 1)
		}
		was := strings.ToLower(cmp.Or(f.Value(prefix+"was"), name))
		rows = append(rows, row{alert.Participant{Name: name, ChannelIDs: f.Values[prefix+"channels"]}, turn})
		names[was] = name
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.turn, b.turn) })
	o.Participants = nil
	for _, r := range rows {
		o.Participants = append(o.Participants, r.Participant)
	}
	var kept []alert.Override
	for _, v := range o.Overrides {
		name, stays := names[strings.ToLower(v.Participant)]
		switch {
		case stays:
			v.Participant = name
			kept = append(kept, v)
		case v.Ended(now):
			kept = append(kept, v)
		default:
			lost = append(lost, v)
		}
	}
	o.Overrides = kept
	return lost
}

func (r *request) answerOnCallForm(status int, f *frame.Form, o alert.OnCall, conflict bool) error {
	s := onCallFormScreen{Form: f, ID: o.ID, Path: frame.OnCallPath + "/new", Conflict: conflict}
	title := "New on-call schedule"
	if o.ID != "" {
		s.Path, s.Tag, title = frame.OnCallPath+"/"+o.ID+"/edit",
			f.Version("tag", kernel.EntityTag(resource.OnCall.Audited(o)), conflict), o.Name
	}
	for _, i := range resource.OnCall.Infos("name", "hand_over_day", "hand_over_at", "zone", "starts_on", "slug") {
		x := frame.FieldOf(i)
		x.Optional, x.Wide = i.Name == "slug", i.Name == "name"
		s.Fields = append(s.Fields, f.Draw(x))
	}
	if !conflict {
		typed, shown := o, onCallRow{OnCall: o}
		for _, lost := range fillParticipants(frame.NewForm(f.Values), &typed, r.Now()) {
			s.Lost = append(s.Lost, lostOverride{
				lost.Participant, shown.Clock(lost.StartsAt), shown.Clock(lost.EndsAt),
			})
		}
	}
	channels, err := r.channels()
	if err != nil {
		return err
	}
	s.NoChannel = len(channels) == 0
	for i := range participantRows(f) {
		prefix := rowPrefix(i)
		row := participantRow{
			Number: strconv.Itoa(i + 1), Prefix: prefix, Was: f.Value(prefix + "was"),
			Channels: frame.Field{Name: prefix + "channels", Label: "Channels"},
		}
		row.Name = f.Draw(frame.Field{Name: prefix + "name", Label: "Name", Bare: true, Placeholder: "Ann"})
		row.Turn = f.Draw(frame.Field{
			Name: prefix + "turn", Label: "Order", Type: "number", Bare: true, InputMode: "numeric",
		})
		for _, c := range channels {
			label := c.Name
			if !c.Enabled {
				label += " (disabled)"
			}
			row.Channels.Options = append(row.Channels.Options, frame.Option{
				Value: c.ID, Label: label, Selected: slices.Contains(f.Values[prefix+"channels"], c.ID),
			})
		}
		s.Rows = append(s.Rows, row)
	}
	s.LostFocus = len(s.Lost) > 0 && !f.Focused
	if s.Conflict || status == http.StatusOK && o.ID == "" {
		s.Fields[0].Focus = true
	}
	return r.Show(status, "on_call_form", title, s)
}
