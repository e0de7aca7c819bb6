package field_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/google/go-cmp/cmp"
)

// room is a resource with a value that may be missing, one that only some requests give, and one that responses do not
// show.
type room struct {
	ID      string
	Remark  *string
	Open    bool
	warm    bool
	Created time.Time
}

func (r *room) mood() level {
	if r.warm {
		return "high"
	}
	return "low"
}

var rooms = field.New(field.Resource[room]{Noun: "room", Path: "rooms", Doc: "a room", Fields: []*field.Field[room]{
	field.ID("id", "room_", func(r *room) *string { return &r.ID }),
	field.OptionalText("remark", func(r *room) **string {
		return &r.Remark
	}).Max(5).Doc("Remark").Form("Remark", "", ""),
	field.ChoiceBy("mood", (*room).mood, func(r *room, v level) {
		r.warm = v == "high"
	}, field.Of(level("low"), "Low"), field.Of(level("high"), "High")).
		Whole().Kept().Doc("Mood").Form("Mood", "", ""),
	field.Bool("open", func(r *room) *bool {
		return &r.Open
	}).WriteOnly().Doc("Open").Form("Open", "", "").Labels("open", "closed"),
	field.Time("created_at", func(r *room) *time.Time { return &r.Created }).ReadOnly(),
}})

// TestRequestsOfRooms checks what bodies make of a new room, of a stored one, and of a stored one that they replace; or
// what is wrong with them.
func TestRequestsOfRooms(t *testing.T) {
	for body, want := range map[string]struct{ create, change, replace string }{
		`{}`:                           {"none low false", "old high true", "none high false"},
		`{"remark":"","open":true}`:    {"'' low true", "'' high true", "'' high true"},
		`{"remark":null,"open":false}`: {"none low false", "none high false", "none high false"},
		`{"mood":"low"}`:               {"none low false", "Unknown field.", "none low false"},
		`{"remark":"123456","open":1}`: {
			"The open must be true or false. The remark may not be longer than 5 characters.",
			"The open must be true or false. The remark may not be longer than 5 characters.",
			"The open must be true or false. The remark may not be longer than 5 characters.",
		},
	} {
		for request, want := range map[field.Request]string{
			field.Creation: want.create, field.Changing: want.change, field.Replacement: want.replace,
		} {
			o, err := jsonobject.Parse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			r := room{ID: "room_1", Remark: new("old"), Open: true, warm: true}
			if request == field.Creation {
				r = room{}
				err = rooms.Create(&r, rooms.Read(o, request), now)
			} else {
				err = rooms.Apply(&r, rooms.Read(o, request), now)
			}
			remark := "none"
			if r.Remark != nil {
				if remark = *r.Remark; remark == "" {
					remark = "''"
				}
			}
			got := fmt.Sprint(remark, " ", r.mood(), " ", r.Open)
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s with the body %s: %s, want %s", request, body, got, want)
			}
		}
	}
}

// TestShownRooms checks that the JSON of a room lacks what responses do not show, that the audit log has it, and that
// forms do not distinguish an empty text from none.
func TestShownRooms(t *testing.T) {
	r := room{ID: "room_1", Open: true}
	if got, want := string(rooms.JSON(r)), `{"id":"room_1","remark":null,"mood":"low","created_at":null}`; got != want {
		t.Errorf("JSON of a room is %s, want %s", got, want)
	}
	diff := cmp.Diff(map[string]any{"remark": nil, "mood": "low", "open": true}, rooms.Audited(r).AuditObject().Fields)
	if diff != "" {
		t.Errorf("audited fields (-want +got):\n%s", diff)
	}
	diff = cmp.Diff(url.Values{"remark": {""}, "mood": {"low"}, "open": {"true"}}, rooms.FormValues(r, time.UTC))
	if diff != "" {
		t.Errorf("values of the form (-want +got):\n%s", diff)
	}
	r.Remark = new("old")
	err := rooms.ReadForm(r, url.Values{"remark": {" \r\n"}, "open": {"false"}}, time.UTC, now)(&r)
	if err != nil || r.Remark != nil || r.Open {
		t.Errorf("room from an empty form: %v, error %v", r, err)
	}
	changed := room{ID: "room_2"}
	err = rooms.From(room{Remark: new(""), Open: true, warm: true})(&changed)
	if err != nil || *changed.Remark != "" || !changed.Open || !changed.warm {
		t.Errorf("room copied by From: %v, error %v", changed, err)
	}
}

// door is a resource with a secret that is shown once, and values without places of their own. One of these values can
// be refused.
type door struct {
	ID, Key string
	Guests  []string
	Locked  time.Time
	Created time.Time
}

var doors = field.New(field.Resource[door]{Noun: "door", Path: "doors", Doc: "a door", Fields: []*field.Field[door]{
	field.ID("id", "door_", func(d *door) *string { return &d.ID }),
	field.ReferencesBy("guests", "person", func(d *door) []string {
		return d.Guests
	}, func(d *door, guests []string) error {
		if d.Guests = guests; len(guests) > 1 {
			return &kernel.ValidationError{Problems: []kernel.Problem{{Field: "guests", Code: "are too many"}}}
		}
		return nil
	}).Doc("Guests").Form("Guests", "", ""),
	field.BoolBy("locked", func(d *door) bool {
		return !d.Locked.IsZero()
	}, func(d *door, v bool) { d.Locked = d.Created }).
		AtCreation().Doc("Locked").Form("Locked", "", ""),
	field.Time("created_at", func(d *door) *time.Time { return &d.Created }).ReadOnly(),
	field.Text("key", func(d *door) *string { return &d.Key }).Once().Doc("Key"),
}})

// TestDoors checks that a secret is shown with the details, if there is one, and that a refused value is reported with
// all other problems.
func TestDoors(t *testing.T) {
	d := door{ID: "door_1"}
	const shown = `{"id":"door_1","guests":["ada"],"locked":true,"created_at":"2026-03-01T12:00:00.000Z"`
	doors.Begin(&d, "door_1", now)
	o, err := jsonobject.Parse([]byte(`{"guests":["ada"],"locked":true}`))
	if err == nil {
		err = doors.Create(&d, doors.Read(o, field.Creation), now)
	}
	if err != nil || string(doors.DetailJSON(d)) != shown+`}` {
		t.Errorf("JSON of a door without a key is %s, error %v", doors.DetailJSON(d), err)
	}
	d.Key = "secret"
	if got := string(doors.JSON(d)); got != shown+`}` {
		t.Errorf("JSON without details is %s", got)
	}
	if got := string(doors.DetailJSON(d)); got != shown+`,"key":"secret"}` {
		t.Errorf("JSON with details is %s", got)
	}
	if _, ok := doors.Audited(d).AuditObject().Fields["key"]; ok {
		t.Error("the audit log has the secret")
	}
	if o, err = jsonobject.Parse([]byte(`{"guests":["ada","bob"],"key":"mine"}`)); err == nil {
		err = doors.Apply(&d, doors.Read(o, field.Changing), now)
	}
	if err == nil || err.Error() != "The guests are too many. Unknown field." {
		t.Errorf("error for unknown and wrong fields: %v", err)
	}
	if err := doors.From(door{Guests: []string{"ada", "bob"}})(&d); err == nil {
		t.Error("a refused value is copied")
	}
}
