package dashboard

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/configfield"
)

// formWords are the words of forms for fields of the API. Fields of types that are not here have their labels, in quotes.
var formWords = map[string]string{
	"auto_incidents": "incident mode", "channel_ids": "channels", "component_id": "component", "confirm_from": "number of locations", "custom_css": "style sheet",
	"down_days": "number of days at which it fails", "warn_days": "number of days from which it warns", "title_template": "title", "text_template": "text",
	"down_status": "status while it is down", "ends_at": "end", "expires_at": "end", "failure_threshold": "number of failures", "fallback_id": "fallback",
	"hand_over_at": "time of the hand-over", "hand_over_day": "day of the hand-over", "max_per_interval": "number of runs", "max_per_minute": "number of messages in a minute",
	"max_runtime": "longest run", "min_runtime": "shortest run", "on_call_ids": "on-call schedules", "parent_id": "monitor that it depends on", "paused_until": "end",
	"quiet_hours": "quiet hours", "recovery_threshold": "number of good results", "remind_before": "reminder", "scheduled_for": "start", "scheduled_until": "end",
	"shown_from": "start", "shown_until": "end", "slow_after": "time after which a result is slow", "starts_at": "start", "starts_on": "first week", "time_zone": "time zone",
	"url": "URL", "username": "user name",
}

// formSentences are errors of the API that have other words in forms.
var formSentences = strings.NewReplacer(
	"A rule must have channel_ids or on_call_ids.", "Choose who is notified.",
	"Each of the escalation's steps must have channel_ids or on_call_ids.", "Choose who is notified in each step.",
	"The after of each of the escalation's steps must be a whole number of seconds from 60 to 86400.",
	"The time of each step must be from 1m to 24h.",
)

// fieldWords returns a function that replaces the names of fields of the API in an error by words. Only those after an
// article or "after" are names of fields: others, and all within quotes, are what people typed.
var fieldWords = sync.OnceValue(func() func(string) string {
	labels := make(map[string]string)
	add := func(fields []configfield.Field) {
		for _, f := range fields {
			if strings.Contains(f.Name, "_") && formWords[f.Name] == "" {
				labels[f.Name] = "“" + f.Label + "”"
			}
		}
	}
	for _, t := range alertchannel.Types {
		add(t.Fields)
	}
	for _, t := range check.Types {
		add(t.Fields)
	}
	names := slices.Concat(slices.Collect(maps.Keys(labels)), slices.Collect(maps.Keys(formWords)))
	slices.Sort(names)
	name := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\b(The|the|An?|an?|after) (` + strings.Join(names, "|") + `)\b( field\b)?`)
	return func(text string) string {
		var b strings.Builder
		end := 0
		for _, at := range name.FindAllStringSubmatchIndex(text, -1) {
			if at[4] < 0 {
				continue // in quotes
			}
			before, key := text[at[2]:at[3]], text[at[4]:at[5]]
			b.WriteString(text[end:at[0]])
			switch label := labels[key]; {
			case label == "" && before == "after":
				b.WriteString("after the " + formWords[key])
			case label == "":
				b.WriteString(before + " " + formWords[key])
			case before == "after" || at[6] >= 0: // The “JSON path” field
				b.WriteString(before + " " + label)
			default:
				b.WriteString(label)
			}
			end = at[5]
		}
		return b.String() + text[end:]
	}
})

// formMessages returns errors of the API about a field in the words of forms. label is that of the field beside which
// they stand; "": they stand alone.
func formMessages(name, label string, messages []string) []string {
	messages = slices.Clone(messages)
	for i, m := range messages {
		m = formSentences.Replace(m)
		if rest, ok := strings.CutPrefix(m, "The "+name+" "); ok && !isKnownName(name, label) {
			m = "This " + rest
		}
		messages[i] = fieldWords()(m)
	}
	return messages
}

// isKnownName reports whether people know a field by its name in the API, because it is in its label, or has other
// words here.
func isKnownName(name, label string) bool {
	if label == "" || strings.Contains(name, "_") || formWords[name] != "" {
		return true
	}
	prepositions := []string{"from", "to", "until"}
	return slices.Contains(strings.Fields(strings.ToLower(label)), name) && !slices.Contains(prepositions, name)
}
