package kernel_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestProblemsHaveWords checks the words of problems in the API and on another surface.
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
		if p := bad.Problems[0]; p.Message() != c.message || p.Text(word) != c.text {
			t.Errorf("problem %s: Message and Text are %q and %q, want %q and %q", c.code, p.Message(), p.Text(word),
				c.message, c.text)
		}
	}
}
