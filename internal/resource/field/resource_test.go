package field_test

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/google/go-cmp/cmp"
)

// note is a resource with a field of each kind.
type note struct {
	ID, Name, Text string
	Level          level
	From, Until    time.Time
	Created        time.Time
	Updated        time.Time
}

type level string

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fieldsOfNote are the fields of a note.
func fieldsOfNote() []*field.Field[note] {
	return []*field.Field[note]{
		field.ID("id", "note_", func(n *note) *string { return &n.ID }),
		field.Line("name", func(n *note) *string {
			return &n.Name
		}).Required().Max(10).Doc("Name").Form("Name", "", ""),
		field.Markdown("text", func(n *note) *string { return &n.Text }).Max(20).Doc("Text").Form("Text", "", ""),
		field.Choice("level", func(n *note) *level {
			return &n.Level
		}, field.Of(level("low"), "Low"), field.Of(level("high"), "High")).
			Default(func(n *note, _ time.Time) { n.Level = "low" }).Doc("Level").Form("Level", "", ""),
		field.Time("from", func(n *note) *time.Time { return &n.From }).
			Default(func(n *note, now time.Time) { n.From = now }).Doc("Beginning").Form("From", "", ""),
		field.Time("until", func(n *note) *time.Time { return &n.Until }).Nullable().Doc("End").Form("Until", "", ""),
		field.Time("created_at", func(n *note) *time.Time { return &n.Created }).ReadOnly(),
		field.Time("updated_at", func(n *note) *time.Time { return &n.Updated }).ReadOnly(),
	}
}

var notes = field.New(field.Resource[note]{
	Noun: "note", Path: "notes", Doc: "a note", Fields: fieldsOfNote(),
	Rules: func(n, _ *note, _ time.Time, bad *kernel.ValidationError) {
		if !n.Until.IsZero() && !n.Until.After(n.From) {
			bad.Add("until", "must be after %s", kernel.Name("from"))
		}
	},
})

// saved returns a note that is stored.
func saved() note {
	return note{
		ID: "note_1", Name: "Old", Text: "old", Level: "high", From: now, Until: now.Add(time.Hour), Created: now,
		Updated: now,
	}
}

const savedJSON = `{"id":"note_1","name":"Old","text":"old","level":"high","from":"2026-03-01T12:00:00.000Z",` +
	`"until":"2026-03-01T13:00:00.000Z",` +
	`"created_at":"2026-03-01T12:00:00.000Z","updated_at":"2026-03-01T12:00:00.000Z"}`

// TestJSON checks the JSON of a resource against the output of package encoding/json.
func TestJSON(t *testing.T) {
	if got := string(notes.JSON(saved())); got != savedJSON {
		t.Errorf("JSON of a saved note is %s", got)
	}
	text := "\"\\ \t<&>\u2028é\x7f"
	want, err := jsonobject.Marshal(text)
	got := string(notes.JSON(note{Text: text}))
	if err != nil ||
		!strings.Contains(got, `"text":`+strings.TrimSpace(string(want))+`,`) ||
		!strings.Contains(got, `"until":null`) {
		t.Errorf("JSON of a text with escapes is %s, want %s", got, want)
	}
}

// noteChanges are bodies, and what they make of a new note, of a stored one, and of a stored one that they replace; or
// what is wrong with them. Each row has all errors of a body.
var noteChanges = map[string]struct{ create, change, replace string }{
	`{}`: {"The name field is required.", "Old old high 12:00 13:00 updated 12:00", "The name field is required."},
	`{"name":"New"}`: {
		"New  low 12:01  updated 12:01", "New old high 12:00 13:00 updated 12:01", "New  low 12:01  updated 12:01",
	},
	`{"name":"New","text":null,"level":null,"from":null,"until":null}`: {
		"New  low 12:01  updated 12:01", "New old high 12:00  updated 12:01", "New  low 12:01  updated 12:01",
	},
	`{"name":"New","text":"t","level":"high","from":"2026-03-01T13:00:00+00:00","until":"2026-03-01T13:01:00Z"}`: {
		"New t high 13:00 13:01 updated 12:01", "New t high 13:00 13:01 updated 12:01",
		"New t high 13:00 13:01 updated 12:01",
	},
	`{"name":"Old","text":"old"}`: {
		"Old old low 12:01  updated 12:01", "Old old high 12:00 13:00 updated 12:00",
		"Old old low 12:01  updated 12:01",
	},
	`{"name":"","text":"012345678901234567890","level":"loud","from":1,"until":"2026-03-01T12:00:00Z","more":1}`: {
		"The from must be an instant by RFC 3339, such as 2026-11-21T04:00:00Z. The level must be one of: low, " +
			"high. Unknown field. The name field is required. The text may not be longer than 20 characters. The " +
			"until must be after from.",
		"The from must be an instant by RFC 3339, such as 2026-11-21T04:00:00Z. The level must be one of: low, " +
			"high. Unknown field. The name field is required. The text may not be longer than 20 characters. The " +
			"until must be after from.",
		"The from must be an instant by RFC 3339, such as 2026-11-21T04:00:00Z. The level must be one of: low, " +
			"high. Unknown field. The name field is required. The text may not be longer than 20 characters. The " +
			"until must be after from.",
	},
	`{"name":"New","id":"note_2"}`: {"Unknown field.", "Unknown field.", "Unknown field."},
}

// TestChanges checks what bodies make of notes.
func TestChanges(t *testing.T) {
	later := now.Add(time.Minute)
	for body, want := range noteChanges {
		read := func(request field.Request) field.Change[note] {
			o, err := jsonobject.Parse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			return notes.Read(o, request)
		}
		var created note
		notes.Begin(&created, "note_2", later)
		changed, replaced := saved(), saved()
		for what, c := range map[string]struct {
			n    *note
			err  error
			want string
		}{
			"create":  {&created, notes.Create(&created, read(field.Creation), later), want.create},
			"change":  {&changed, notes.Apply(&changed, read(field.Changing), later), want.change},
			"replace": {&replaced, notes.Apply(&replaced, read(field.Replacement), later), want.replace},
		} {
			clock := func(t time.Time) string { return strings.TrimPrefix(t.Format("15:04"), "00:00") }
			got := strings.Join([]string{
				c.n.Name, c.n.Text, string(c.n.Level), clock(c.n.From), clock(c.n.Until), "updated",
				clock(c.n.Updated),
			}, " ")
			if c.err != nil {
				got = c.err.Error()
			}
			if got != c.want {
				t.Errorf("%s changed by %s:\n%s, want\n%s", what, body, got, c.want)
			}
		}
	}
}

// TestChangeIsRepeatable applies a change with an error twice, as a transaction that is repeated does. What is wrong
// with the first object is not reported of the second one.
func TestChangeIsRepeatable(t *testing.T) {
	o, err := jsonobject.Parse([]byte(`{"from":1}`))
	if err != nil {
		t.Fatal(err)
	}
	change := notes.Read(o, field.Changing)
	first, second := saved(), saved()
	first.Until = first.From
	const unread = "The from must be an instant by RFC 3339, such as 2026-11-21T04:00:00Z."
	if got, want := notes.Apply(&first, change, now).Error(), unread+" The until must be after from."; got != want {
		t.Errorf("at first: %s, want %s", got, want)
	}
	if got := notes.Apply(&second, change, now).Error(); got != unread {
		t.Errorf("error of the repeated change: %s, want %s", got, unread)
	}
	failed := errors.New("failed")
	if err := notes.Apply(&first, func(*note) error { return failed }, now); !errors.Is(err, failed) {
		t.Errorf("the error of a change is %v", err)
	}
}

// TestOldValuesStay checks that a stored value which would not be accepted today does not stand in the way of a change.
func TestOldValuesStay(t *testing.T) {
	n := saved()
	n.Name = "longer than it may be"
	if err := notes.Apply(&n, func(n *note) error { n.Text = "new"; return nil }, now); err != nil {
		t.Error(err)
	}
	if err := notes.Apply(&n, func(n *note) error { n.Name += "!"; return nil }, now); err == nil {
		t.Error("a new value may be too long")
	}
}

// TestForm shows a note in a form, and reads the form unchanged, with every field changed, and with errors.
func TestForm(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	before := saved()
	before.From = before.From.Add(7 * time.Second)
	values := notes.FormValues(before, tokyo)
	want := (url.Values{
		"name": {"Old"}, "text": {"old"}, "level": {"high"}, "from": {"2026-03-01T21:00"},
		"until": {"2026-03-01T22:00"},
	})
	if cmp.Diff(want, values) != "" {
		t.Errorf("the values are %v", values)
	}
	for name, c := range map[string]struct {
		sent url.Values
		want func(*note)
		err  string
	}{
		"unchanged": {url.Values{}, func(*note) {}, ""},
		"text":      {url.Values{"text": {" a\r\nb "}}, func(n *note) { n.Text = "a\nb" }, ""},
		"an end": {url.Values{"until": {"2026-03-02T01:00"}}, func(n *note) {
			n.Until = now.Add(4 * time.Hour)
		}, ""},
		"no end":        {url.Values{"until": {""}}, func(n *note) { n.Until = time.Time{} }, ""},
		"no beginning":  {url.Values{"from": {""}}, func(n *note) { n.From = now.Add(time.Minute) }, ""},
		"no level":      {url.Values{"level": {""}}, func(n *note) { n.Level = "low" }, ""},
		"another level": {url.Values{"level": {"loud"}}, nil, "The level must be one of: low, high."},
		"several errors": {url.Values{"name": {""}, "from": {"x"}, "until": {"2026-03-01T20:00"}}, nil,
			"The name field is required."},
		"a field of none": {url.Values{"id": {"note_9"}, "more": {"x"}}, func(*note) {}, ""},
	} {
		n, want, sent := before, before, maps.Clone(values)
		maps.Copy(sent, c.sent)
		err := notes.Apply(&n, notes.ReadForm(before, sent, tokyo, now), now.Add(time.Minute))
		if err != nil || c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("form %s: error %v", name, err)
			}
			continue
		}
		c.want(&want)
		n.Updated = want.Updated
		if diff := cmp.Diff(want, n); diff != "" {
			t.Errorf("note from the form %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAudited checks what the audit log and entity tags see: the fields that people set.
func TestAudited(t *testing.T) {
	o := notes.Audited(saved()).AuditObject()
	names := slices.Sorted(maps.Keys(o.Fields))
	if o.ID != "note_1" || o.Name != "Old" || !slices.Equal(names, []string{"from", "level", "name", "text", "until"}) {
		t.Errorf("audited as %+v", o)
	}
	other := saved()
	other.Updated = now.Add(time.Hour)
	if kernel.EntityTag(notes.Audited(saved())) != kernel.EntityTag(notes.Audited(other)) {
		t.Error("a time of change changes the entity tag")
	}
}

// TestInfos checks that fields are in the order in which they are asked for.
func TestInfos(t *testing.T) {
	var names []string
	for _, i := range notes.Infos("until", "name") {
		names = append(names, i.Name)
	}
	if !slices.Equal(names, []string{"until", "name"}) {
		t.Errorf("Infos(until, name) has %q", names)
	}
}

// TestFrom checks that the fields which are set are set, and no others.
func TestFrom(t *testing.T) {
	n := saved()
	if err := notes.From(note{ID: "note_9", Text: "new", Until: now})(&n); err != nil {
		t.Fatal(err)
	}
	want := saved()
	want.Text, want.Until = "new", now
	if diff := cmp.Diff(want, n); diff != "" {
		t.Errorf("From copied (-want +got):\n%s", diff)
	}
}

// TestWrongDescriptions checks that a program with a wrong description does not start.
func TestWrongDescriptions(t *testing.T) {
	name := func(n *note) *string { return &n.Name }
	others := fieldsOfNote()[2:]
	for what, fields := range map[string][]*field.Field[note]{
		"two fields of a value": append(
			fieldsOfNote()[:2:2],
			append([]*field.Field[note]{field.Line("other", name).Max(1).Doc("x").Form("X", "", "")}, others...)...,
		),
		"two fields of a name": append(
			fieldsOfNote(), field.Line("name", name).Max(1).Doc("x").Form("X", "", "").Column("other"),
		),
		"two fields of a column": append(
			fieldsOfNote(), field.Line("other", name).Max(1).Doc("x").Form("X", "", "").Column("name"),
		),
		"no limit": append(fieldsOfNote(), field.Line("other", name).Doc("x").Form("X", "", "")),
		"no text":  append(fieldsOfNote(), field.Line("other", name).Max(1).Form("X", "", "")),
		"no label": append(fieldsOfNote(), field.Line("other", name).Max(1).Doc("x")),
		"no options": append(fieldsOfNote(), field.Choice("other", func(n *note) *level {
			return &n.Level
		}).Doc("x").Form("X", "", "")),
		"nothing about 0": append(fieldsOfNote(), field.Duration("other", time.Hour, func(*note) *time.Duration {
			return new(time.Duration)
		}).Doc("x").Form("X", "", "")),
		"no id":               fieldsOfNote()[1:],
		"no time of creation": fieldsOfNote()[:6],
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it is accepted", what)
				}
			}()
			field.New(field.Resource[note]{Noun: "note", Fields: fields})
		}()
	}
}
