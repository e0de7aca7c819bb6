package jsonobject

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readSample reads the fields impact, message, component_id, time_zone and a list of objects with id and status.
func readSample(o *Object) {
	for _, field := range []string{"impact", "message", "component_id", "time_zone"} {
		o.Text(field)
	}
	for _, item := range o.Objects("components", 10) {
		item.Text("id")
		item.Text("status")
	}
}

// TestUnknownFields compares what is said about unknown fields.
func TestUnknownFields(t *testing.T) {
	const unknown = "Unknown field."
	meant := func(field string) []string { return []string{"Unknown field, did you mean " + field + "?"} }
	for body, want := range map[string]map[string][]string{
		`{"impact":"x","components":[{"id":"x","status":"y"}]}`: nil,
		`{"impct":"x"}`:  {"impct": meant("impact")},
		`{"imapct":"x"}`: {"imapct": meant("impact")},
		`{"Impact":"x"}`: {"Impact": meant("impact")},
		`{"componentId":"x","time-zone":"x"}`: {
			"componentId": meant("component_id"), "time-zone": meant("time_zone"),
		},
		`{"component":"x"}`:                            {"component": meant("component_id")},
		`{"mess":"x"}`:                                 {"mess": meant("message")},
		`{"impct":"x","impact":"x"}`:                   {"impct": {unknown}},
		`{"body":"x","":1,"é":2}`:                      {"body": {unknown}, "": {unknown}, "é": {unknown}},
		`{"components":[{"id":"x"},{"stauts":"x"}]}`:   {"components.1.stauts": meant("status")},
		`{"components":[{"impact":"x"}],"status":"x"}`: {"components.0.impact": {unknown}, "status": {unknown}},
		`{"` + strings.Repeat("é", 100) + `":1}`:       {strings.Repeat("é", 64) + "…": {unknown}},
	} {
		o, err := Parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		readSample(o)
		for range 2 { // Check may be called again
			if diff := cmp.Diff(want, fieldErrors(t, o.Check(nil))); diff != "" {
				t.Errorf("errors of %s (-want +got):\n%s", body, diff)
			}
		}
		o, _ = Parse([]byte(body))
		o.AllowUnknown()
		readSample(o)
		if unknown, more := o.Unknown(); o.Check(nil) != nil || len(unknown) != len(want) || more != 0 {
			t.Errorf("Check and Unknown of %s: %v, unknown %q and %d more", body, o.Check(nil), unknown, more)
		}
	}
}

// TestManyUnknownFields checks that what is said about unknown fields is bounded.
func TestManyUnknownFields(t *testing.T) {
	var fields []string
	for i := range 5000 {
		fields = append(fields, fmt.Sprintf(`"%s%d":1`, strings.Repeat("x", 60), i))
	}
	o, err := Parse([]byte("{" + strings.Join(fields, ",") + "}"))
	if err != nil {
		t.Fatal(err)
	}
	readSample(o)
	if n := len(fieldErrors(t, o.Check(nil))); n != 20 {
		t.Errorf("Check of many unknown fields: %d errors, want 20", n)
	}
	if got, more := o.Unknown(); len(got) != 20 || more != 4980 || !slices.IsSorted(got) {
		t.Errorf("unknown: %q and %d more", got, more)
	}
}

// TestReadOnlyFields checks that fields that are accepted in a PUT are not suggested.
func TestReadOnlyFields(t *testing.T) {
	o, err := Parse([]byte(`{"created_at":"x","creatd_at":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	o.AllowReadOnly("created_at")
	readSample(o)
	diff := cmp.Diff(map[string][]string{"creatd_at": {"Unknown field."}}, fieldErrors(t, o.Check(nil)))
	if diff != "" {
		t.Errorf("errors of read-only fields (-want +got):\n%s", diff)
	}
}
