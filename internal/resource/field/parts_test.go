package field_test

import (
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

// job is a resource with lists and with objects within it.
type job struct {
	ID, Name string
	On       bool
	Levels   []level
	Tags     []string
	Wait     time.Duration
	Pause    *pause
	Steps    []step
	Created  time.Time
}

type pause struct {
	From clock
	Days []level
}

type step struct{ After time.Duration }

type clock int

var levels = []field.Option{field.Of(level("low"), "Low"), field.Of(level("high"), "High")}

var pauses = field.NewPart(field.Resource[pause]{Noun: "pause", Fields: []*field.Field[pause]{
	field.Clock("from", func(p *pause) *clock { return &p.From }).Required().Doc("Beginning").Form("From", "", ""),
	field.Choices("days", func(p *pause) *[]level { return &p.Days }, levels...).Doc("Days").Form("Days", "", ""),
}})

var steps = field.NewPart(field.Resource[step]{Noun: "step", Fields: []*field.Field[step]{
	field.Duration("after", time.Hour, func(s *step) *time.Duration {
		return &s.After
	}).Required().Doc("After").Form("After", "", ""),
}})

var jobs = field.New(field.Resource[job]{
	Noun: "job", Title: func(j job) string { return "the job " + j.Name },
	Fields: slices.Concat(
		[]*field.Field[job]{
			field.ID("id", "job_", func(j *job) *string { return &j.ID }),
			field.Line("name", func(j *job) *string { return &j.Name }).Required().Max(10).
				Check(func(j *job, bad *kernel.ValidationError) {
					if j.Name == "new" {
						bad.Add("name", "is reserved")
					}
				}).
				Doc("Name").Form("Name", "", ""),
			field.Bool("on", func(j *job) *bool { return &j.On }).Default(func(
				j *job, _ time.Time,
			) {
				j.On = true
			}).Doc("On").Form("On", "", ""),
		},
		field.Packed("rest", slices.Concat(
			field.Within("Match", "is what a job is about",
				field.Choices("levels", func(j *job) *[]level { return &j.Levels }, levels...).
					Default(func(j *job, _ time.Time) {
						j.Levels = []level{"low"}
					}).Doc("Levels").Form("Levels", "", ""),
				field.Texts("tags", func(j *job) *[]string {
					return &j.Tags
				}).AtMost(2).Doc("Tags").Form("Tags", "", ""),
			),
			[]*field.Field[job]{
				field.Duration("wait", time.Hour, func(j *job) *time.Duration {
					return &j.Wait
				}).AtLeast(time.Minute).Doc("Wait").Empty("none").Form("Wait", "", ""),
				field.Part("pause", pauses, func(j *job) **pause {
					return &j.Pause
				}).Doc("Pause").Form("Pause", "", ""),
				field.Parts("steps", 2, steps, func(j *job) *[]step {
					return &j.Steps
				}).Doc("Steps").Form("Steps", "", ""),
			})...),
		[]*field.Field[job]{field.Time("created_at", func(j *job) *time.Time { return &j.Created }).ReadOnly()},
	),
})

func savedJob() job {
	return job{
		ID: "job_1", Name: "Old", Levels: []level{"high"}, Tags: []string{"a"}, Wait: time.Minute,
		Pause: &pause{22*60 + 5, []level{"low"}}, Steps: []step{{10 * time.Second}, {time.Minute}}, Created: now,
	}
}

const (
	packedJob = `{"levels":["high"],"tags":["a"],"wait":60,"pause":{"from":"22:05","days":["low"]},` +
		`"steps":[{"after":10},{"after":60}]}`
	savedJobs = `{"id":"job_1","name":"Old","on":false,` +
		`"levels":["high"],"tags":["a"],"wait":60,"pause":{"from":"22:05","days":["low"]},"steps":[{"after":10},` +
		`{"after":60}]` +
		`,"created_at":"2026-03-01T12:00:00.000Z"}`
)

// TestParts checks the JSON of lists and parts, in responses and in a column, and what the audit log has of them.
func TestParts(t *testing.T) {
	j := savedJob()
	if got := string(jobs.JSON(j)); got != savedJobs {
		t.Errorf("JSON with parts is %s", got)
	}
	if got := jobs.Pack("rest", &j); got != packedJob {
		t.Errorf("packed: %s", got)
	}
	got := jobs.Pack("rest", new(job{Tags: []string{}, Pause: &pause{}}))
	if got != `{"tags":[],"pause":{"from":"00:00","days":[]}}` {
		t.Errorf("packed: %s", got)
	}
	unpacked := job{ID: "job_1", Name: "Old", Created: now}
	if err := jobs.Unpack("rest", strings.Replace(packedJob, "{", `{"later":1,`, 1), &unpacked); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(j, unpacked); diff != "" {
		t.Errorf("unpacked (-want +got):\n%s", diff)
	}
	if err := jobs.Unpack("rest", `{"wait":"x"}`, &unpacked); err == nil {
		t.Error("a damaged column is accepted")
	}
	got = string(jobs.JSON(job{}))
	if !strings.Contains(got, `"levels":[],"tags":[],"wait":0,"pause":null,"steps":[],`) {
		t.Errorf("JSON without parts is %s", got)
	}
	if o := jobs.Audited(j).AuditObject(); o.Name != "the job Old" || len(o.Fields) != 7 {
		t.Errorf("audited as %+v", o)
	}
}

// allWrong are the errors of a body in which every field is wrong.
const allWrong = "Each of the levels must be one of: low, high. The name is reserved. The on must be true or false. " +
	"The days must be a list of strings. " +
	"The from field is required. The after must be a whole number. The tags may have at most 2 items. " +
	"The wait must be 0, or a whole number of seconds from 60 to 3600."

// partChanges are bodies, and what they make of a new job, of a stored one, and of a stored one that they replace; or
// what is wrong with them.
var partChanges = map[string]struct{ create, change, replace string }{
	`{"name":"n"}`: {
		`"name":"n","on":true,"levels":["low"],"tags":[],"wait":0,"pause":null,"steps":[]`,
		`"name":"n","on":false,"levels":["high"],"tags":["a"],"wait":60,"pause":{"from":"22:05","days":["low"]},` +
			`"steps":[{"after":10},{"after":60}]`,
		`"name":"n","on":true,"levels":["low"],"tags":[],"wait":0,"pause":null,"steps":[]`,
	},
	`{"name":"n","on":null,"levels":null,"pause":null,"steps":null}`: {
		`"name":"n","on":true,"levels":["low"],"tags":[],"wait":0,"pause":null,"steps":[]`,
		`"name":"n","on":false,"levels":["high"],"tags":["a"],"wait":60,"pause":null,"steps":[]`,
		`"name":"n","on":true,"levels":["low"],"tags":[],"wait":0,"pause":null,"steps":[]`,
	},
	`{"name":"n","on":false,"levels":[],"tags":["b","c"],"wait":0,"pause":{"from":"07:00"},"steps":[{"after":5}]}`: {
		`"name":"n","on":false,"levels":[],"tags":["b","c"],"wait":0,"pause":{"from":"07:00","days":[]},` +
			`"steps":[{"after":5}]`,
		`"name":"n","on":false,"levels":[],"tags":["b","c"],"wait":0,"pause":{"from":"07:00","days":[]},` +
			`"steps":[{"after":5}]`,
		`"name":"n","on":false,"levels":[],"tags":["b","c"],"wait":0,"pause":{"from":"07:00","days":[]},` +
			`"steps":[{"after":5}]`,
	},
	`{"name":"new","on":1,"levels":["loud"],"tags":["a","b","c"],"wait":59,"pause":{"days":1},` +
		`"steps":[{"after":"x"}]}`: {allWrong, allWrong, allWrong},
	`{"name":"n","pause":{"from":"24:00","to":1}}`: {
		"The from must be a time of day, such as 22:00. Unknown field.",
		"The from must be a time of day, such as 22:00. Unknown field.",
		"The from must be a time of day, such as 22:00. Unknown field.",
	},
}

// TestChangesOfParts checks what bodies make of jobs.
func TestChangesOfParts(t *testing.T) {
	for body, want := range partChanges {
		read := func(request field.Request) field.Change[job] {
			o, err := jsonobject.Parse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			return jobs.Read(o, request)
		}
		var created job
		jobs.Begin(&created, "job_1", now)
		changed, replaced := savedJob(), savedJob()
		for what, c := range map[string]struct {
			j    *job
			err  error
			want string
		}{
			"create":  {&created, jobs.Create(&created, read(field.Creation), now), want.create},
			"change":  {&changed, jobs.Apply(&changed, read(field.Changing), now), want.change},
			"replace": {&replaced, jobs.Apply(&replaced, read(field.Replacement), now), want.replace},
		} {
			got := strings.TrimSuffix(strings.TrimPrefix(string(jobs.JSON(*c.j)), `{"id":"job_1",`),
				`,"created_at":"2026-03-01T12:00:00.000Z"}`)
			if c.err != nil {
				got = c.err.Error()
			}
			if got != c.want {
				t.Errorf("%s changed by %s:\n%s, want\n%s", what, body, got, c.want)
			}
		}
	}
}

// TestListsInForms shows lists in a form, and reads them as they are chosen, or typed.
func TestListsInForms(t *testing.T) {
	values := jobs.FormValues(savedJob(), time.UTC)
	want := url.Values{"name": {"Old"}, "on": {"false"}, "levels": {"high"}, "tags": {"a"}, "wait": {"60"}}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("values of the form (-want +got):\n%s", diff)
	}
	j := savedJob()
	sent := url.Values{"on": {"true"}, "levels": {"", "low", "high"}, "tags": {"b, c\r\nd"}}
	if err := jobs.ReadForm(j, sent, time.UTC, now)(&j); err != nil {
		t.Fatal(err)
	}
	changed := savedJob()
	changed.On, changed.Levels, changed.Tags = true, []level{"low", "high"}, []string{"b", "c", "d"}
	if diff := cmp.Diff(changed, j); diff != "" {
		t.Errorf("job from the form (-want +got):\n%s", diff)
	}
}
