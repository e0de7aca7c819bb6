package frame

import (
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestErrorsOfFormsHaveWords says problems of fields of the API as forms do: beside a field with a label, and alone.
func TestErrorsOfFormsHaveWords(t *testing.T) {
	t.Parallel()
	name := func(key string) kernel.Name { return kernel.Name(key) }
	for _, c := range []struct {
		field, label, code string
		args               []any
		beside, alone      string
	}{
		{"name", "Name of the page", kernel.Required, nil, "This field is required.",
			"The “Name of the page” field is required."},
		{"max_per_minute", "Maximum messages per minute", "must be from 1 to %d", []any{60},
			"This must be from 1 to 60.", "“Maximum messages per minute” must be from 1 to 60."},
		{"shown_until", "Shown until", "must be after the %s", []any{name("shown_from")},
			"This must be after “Shown from”.", "“Shown until” must be after “Shown from”."},
		{"down_days", "Fails at", "may not be more than the %s", []any{name("warn_days")},
			"This may not be more than “Warn before expiry”.", "“Fails at” may not be more than “Warn before expiry”."},
		{"json_value", "", "needs a %s", []any{name("json_path")}, "This needs “JSON path”.",
			"“JSON value” needs “JSON path”."},
		{"slow_after", "Slow after", "must be shorter than the %s", []any{name("timeout")},
			"This must be shorter than the timeout.", "“Slow after” must be shorter than the timeout."},
		{"schedule.time_zone", "", "must be the name of a zone", nil, "This must be the name of a zone.",
			"The time zone must be the name of a zone."},
		{"page", "Page", "field is required with a %s", []any{name("component_id")},
			"This field is required with a component.", "The “Page” field is required with a component."},
		{"body", "", "The %s or the %s must contain {text}.", []any{name("body"), name("url")},
			"“Body” or “URL” must contain {text}.", "“Body” or “URL” must contain {text}."},
		{"channel_ids", "Notify", "A rule must have %s or %s.", []any{name("channel_ids"), name("on_call_ids")},
			"Choose who is notified.", "Choose who is notified."},
		{"id", "", "The %s %q uses it.", []any{"rule", `say "the url"`}, `The rule "say \"the url\"" uses it.`,
			`The rule "say \"the url\"" uses it.`},
	} {
		f := NewForm(nil)
		f.Sentences = map[string]string{"A rule must have %s or %s.": "Choose who is notified."}
		f.labels["shown_from"], f.labels[c.field] = "Shown from", c.label
		p := kernel.Problem{Field: c.field, Code: c.code, Args: c.args}
		if got := f.say(p, true); got != c.beside {
			t.Errorf("%s %q: %q, want %q", c.field, c.code, got, c.beside)
		}
		if got := f.say(p, false); got != c.alone {
			t.Errorf("%s %q alone: %q, want %q", c.field, c.code, got, c.alone)
		}
	}
}
