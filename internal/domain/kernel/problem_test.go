package kernel_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestProblemsHaveWords checks the words of problems in the API and on another surface, before and after they were
// sent.
func TestProblemsHaveWords(t *testing.T) {
	words := map[string]string{"shown_from": "“Shown from”", "target_url": "--url"}
	word := func(key string) string {
		if text := words[key]; text != "" {
			return text
		}
		return "key " + key
	}
	for _, c := range []struct {
		field, code   string
		args          []any
		message, text string
	}{
		{"title", kernel.Required, nil, "The title field is required.", "field is required"},
		{"schedule.time_zone", "must be a zone", nil, "The time_zone must be a zone.", "must be a zone"},
		{"shown_until", "must be after the %s", []any{kernel.Name("shown_from")},
			"The shown_until must be after the shown_from.", "must be after “Shown from”"},
		{"token", "needs an %s", []any{kernel.Name("other")}, "The token needs an other.", "needs an key other"},
		{"body", "The %s or a %s must have {text}.", []any{kernel.Name("body"), kernel.Name("target_url")},
			"The body or a target_url must have {text}.", "The key body or --url must have {text}."},
		{"interval", "is 100%% from %d to %d %s, not %q",
			[]any{time.Minute / time.Second, int64(90), kernel.StatusDegraded, `"the %s"`},
			`The interval is 100% from 60 to 90 degraded, not "\"the %s\"".`,
			`is 100% from 60 to 90 degraded, not "\"the %s\""`},
		{"networks", "The network %s is wrong: %v.", []any{netip.MustParsePrefix("10.0.0.0/8"), errors.New("the url")},
			"The network 10.0.0.0/8 is wrong: the url.", "The network 10.0.0.0/8 is wrong: the url."},
	} {
		var bad kernel.ValidationError
		bad.Add(c.field, c.code, c.args...)
		sent, err := json.Marshal(bad.Problems[0])
		var received kernel.Problem
		if err == nil {
			err = json.Unmarshal(sent, &received)
		}
		if err != nil || len(c.args) > 0 && !reflect.DeepEqual(received, bad.Problems[0]) {
			t.Errorf("%s has become %#v: %v", sent, received, err)
		}
		for _, p := range []kernel.Problem{bad.Problems[0], received} {
			if p.Message() != c.message || p.Text(word) != c.text {
				t.Errorf("%s: %q and %q, want %q and %q", sent, p.Message(), p.Text(word), c.message, c.text)
			}
		}
	}
	var newer kernel.Problem
	if err := json.Unmarshal(
		[]byte(`{"field": "x", "code": "must be %v", "args": [1.5]}`), &newer,
	); err != nil || newer.Message() != "The x must be 1.5." {
		t.Errorf("of a newer server: %q, %v", newer.Message(), err)
	}
	for _, code := range []string{"is %s", "is %d%%s", "is %999999999d", "is 50%", "%[2]s", "is %s of %s"} {
		sent, err := json.Marshal(kernel.Problem{Field: "x", Code: code, Args: []any{1}})
		if code == "is %s" {
			sent, err = json.Marshal(kernel.Problem{Field: "x", Code: code})
		}
		var other kernel.Problem
		if err == nil {
			err = json.Unmarshal(sent, &other)
		}
		want := "The x " + code + "."
		switch code {
		case "is %d%%s":
			want = "The x is 1%s."
		case "%[2]s":
			want = code
		}
		if err != nil || other.Message() != want {
			t.Errorf("the code %q of another server: %q, want %q, %v", code, other.Message(), want, err)
		}
	}
}
