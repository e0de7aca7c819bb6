package field_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/google/go-cmp/cmp"
)

// plan is a resource whose fields are more than values: some requests do not have them, or some responses.
type plan struct {
	ID      string
	Level   level
	Wait    time.Duration
	Parts   []statuspage.ComponentName
	Notes   []note
	Created time.Time
}

var plans = field.New(field.Resource[plan]{Noun: "plan", Path: "plans", Doc: "a plan", Fields: []*field.Field[plan]{
	field.ID("id", "plan_", func(p *plan) *string { return &p.ID }),
	field.FirstMessage("first", func(p *plan) *string {
		if len(p.Notes) == 0 {
			return nil
		}
		return &p.Notes[0].Text
	}, func(p *plan, text *string) {
		if p.Notes = nil; text != nil {
			p.Notes = []note{{Text: *text}}
		}
	}).Max(10).Doc("First note").Form("Note", "", ""),
	field.Choice("level", func(p *plan) *level {
		return &p.Level
	}, field.Of(level("low"), "Low"), field.Of(level("high"), "High")).
		AfterCreation().Default(func(p *plan, _ time.Time) { p.Level = "low" }).Doc("Level").Form("Level", "", ""),
	field.Duration("wait", time.Hour, func(p *plan) *time.Duration { return &p.Wait }).
		Default(func(p *plan, _ time.Time) { p.Wait = time.Minute }).Doc("Wait").Empty("none").Form("Wait", "", ""),
	field.Components("components", func(p *plan) *[]statuspage.ComponentName {
		return &p.Parts
	}).Doc("Parts").Form("Parts", "", ""),
	field.Time("created_at", func(p *plan) *time.Time { return &p.Created }).ReadOnly(),
	field.Objects("notes", notes, func(p *plan) *[]note { return &p.Notes }),
}})

func storedPlan() plan {
	return plan{
		ID: "plan_1", Level: "high", Wait: time.Second,
		Parts: []statuspage.ComponentName{{ID: "b", Name: "B"}, {ID: "a", Name: "A"}}, Notes: []note{{Text: "old"}},
		Created: now,
	}
}

// TestPlans checks what bodies make of a new plan, of a stored one, and of a stored one that they replace; or what is
// wrong with them.
func TestPlans(t *testing.T) {
	for body, want := range map[string]struct{ create, change, replace string }{
		`{}`: {"low 1m0s", "high 1s b a: old", "low 1m0s: old"},
		`{"wait":null,"components":null,"first":null}`: {"low 1m0s", "Unknown field.", "Unknown field."},
		`{"wait":0,"components":["x","y"]}`:            {"low 0s x y", "high 0s x y: old", "low 0s x y: old"},
		`{"components":[]}`:                            {"low 1m0s", "high 1s: old", "low 1m0s: old"},
		`{"first":"new"}`:                              {"low 1m0s: new", "Unknown field.", "Unknown field."},
		`{"level":"low"}`:                              {"Unknown field.", "low 1s b a: old", "low 1m0s: old"},
		`{"notes":[]}`:                                 {"Unknown field.", "Unknown field.", "Unknown field."},
		`{"wait":3600}`:                                {"low 1h0m0s", "high 1h0m0s b a: old", "low 1h0m0s: old"},
		`{"wait":9223372036854775807}`: {
			"The wait must be a whole number of seconds from 0 to 3600.",
			"The wait must be a whole number of seconds from 0 to 3600.",
			"The wait must be a whole number of seconds from 0 to 3600.",
		},
		`{"wait":-1,"components":["x","x"],"first":" "}`: {
			"A component is named twice. The first field is required. The wait must be a whole number of seconds " +
				"from 0 to 3600.",
			"A component is named twice. Unknown field. The wait must be a whole number of seconds from 0 to 3600.",
			"A component is named twice. Unknown field. The wait must be a whole number of seconds from 0 to 3600.",
		},
	} {
		object := func() *jsonobject.Object {
			o, err := jsonobject.Parse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		var created plan
		plans.Begin(&created, "plan_2", now)
		changed, replaced := storedPlan(), storedPlan()
		for what, c := range map[string]struct {
			p    *plan
			err  error
			want string
		}{
			"create":  {&created, plans.Create(&created, plans.Read(object(), field.Creation), now), want.create},
			"change":  {&changed, plans.Apply(&changed, plans.Read(object(), field.Changing), now), want.change},
			"replace": {&replaced, plans.Apply(&replaced, plans.Read(object(), field.Replacement), now), want.replace},
		} {
			got := strings.Join(append([]string{string(c.p.Level), c.p.Wait.String()},
				statuspage.ComponentIDs(c.p.Parts)...), " ")
			for _, n := range c.p.Notes {
				got += ": " + n.Text
			}
			if c.err != nil {
				got = c.err.Error()
			}
			if got != c.want {
				t.Errorf("%s changed by %s:\n%s, want\n%s", what, body, got, c.want)
			}
		}
	}
}

// TestDetails checks that only the detailed JSON of an object has other objects, and that neither JSON has what only
// requests have; and that the audit log has components in the order of their ids, not of the page.
func TestDetails(t *testing.T) {
	p := storedPlan()
	const short = `{"id":"plan_1","level":"high","wait":1,"components":[{"id":"b","name":"B"},{"id":"a","name":"A"}],` +
		`"created_at":"2026-03-01T12:00:00.000Z"`
	if got := string(plans.JSON(p)); got != short+"}" {
		t.Errorf("JSON without details is %s", got)
	}
	if got, want := string(plans.DetailJSON(p)), short+`,"notes":[`+string(notes.JSON(p.Notes[0]))+"]}"; got != want {
		t.Errorf("JSON with details is %s, want %s", got, want)
	}
	want := map[string]any{"level": "high", "wait": int64(1), "components": []string{"a", "b"}}
	if diff := cmp.Diff(want, plans.Audited(p).AuditObject().Fields); diff != "" {
		t.Errorf("audited fields (-want +got):\n%s", diff)
	}
}

// TestFormOfPlan shows a plan in a form, and reads forms. A list has a value that is empty, so that it can be emptied.
func TestFormOfPlan(t *testing.T) {
	values := plans.FormValues(storedPlan(), time.UTC)
	diff := cmp.Diff(url.Values{"first": {"old"}, "level": {"high"}, "wait": {"1"}, "components": {"b", "a"}}, values)
	if diff != "" {
		t.Errorf("plan from a form (-want +got):\n%s", diff)
	}
	read := func(p plan, sent url.Values) plan {
		if err := plans.ReadForm(p, sent, time.UTC, now)(&p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	changed, want := read(storedPlan(), url.Values{"first": {"new"}, "wait": {"0"}, "components": {"", "c"}}),
		storedPlan()
	want.Wait, want.Parts = 0, statuspage.ComponentRefs("c")
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if emptied := read(storedPlan(), url.Values{"components": {""}}); len(emptied.Parts) > 0 {
		t.Errorf("emptied: %v", emptied.Parts)
	}
	created := read(plan{}, url.Values{"first": {" new\r\n"}, "level": {"high"}, "wait": {"0"}})
	if diff := cmp.Diff(plan{Notes: []note{{Text: "new"}}}, created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	if bad := read(storedPlan(), url.Values{"wait": {"x"}}); bad.Wait >= 0 {
		t.Errorf("a wait that is no number is %v", bad.Wait)
	}
}
