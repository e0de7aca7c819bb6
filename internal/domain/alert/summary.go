package alert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// maxSummaryNames is the maximum number of entries of a list in a summary. In a longer list, the last entry counts the
// rest.
const maxSummaryNames = 4

// Summarize describes the rule in one sentence. names maps the ids of ReferredIDs to names.
func (r Rule) Summarize(names map[string]string) string {
	s := summary{r, names}
	subjects := s.subjects()
	if len(subjects) == 0 {
		return "Never: its filters match none of its events."
	}
	first := "When " + strings.Join(subjects, ", or ")
	lasts := !slices.ContainsFunc(r.Events, func(e Event) bool { return !e.Lasts() })
	if r.Delay > 0 && lasts {
		first += " for more than " + kernel.FormatDuration(r.Delay)
	}
	if len(r.Severities) > 0 {
		first += ", with the severity " + listOf(textsOf(r.Severities), "or") + ","
	}
	first = strings.TrimSuffix(first, ",") + ", " + s.notify(r.Target)
	if r.Delay > 0 && !lasts {
		first += " after " + kernel.FormatDuration(r.Delay) + ", unless resolved by then"
	}
	return strings.Join(append([]string{first}, s.later()...), "; ") + "."
}

// summary writes the summary of a rule.
type summary struct {
	Rule
	names map[string]string
}

// subjects returns what the rule is about: "a monitor tagged prod is down or is slow". Events of one kind of objects
// share their subject. Events that the filter never matches are omitted.
func (s summary) subjects() (all []string) {
	var kinds []string
	said := make(map[string][]string)
	for _, e := range Events {
		if !slices.Contains(s.Events, e) {
			continue
		}
		kind, _, _ := strings.Cut(string(e), ".")
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		said[kind] = append(said[kind], e.row().one)
	}
	for _, kind := range kinds {
		if subject := s.subject(kind); subject != "" {
			all = append(all, subject+" "+enumerate(said[kind], "or"))
		}
	}
	return all
}

// subject returns the subject of events of a kind; "": the filter matches none.
func (s summary) subject(kind string) string {
	ofMonitors, ofPages := len(s.Monitors)+len(s.Tags) > 0, len(s.Pages) > 0
	where := ""
	if ofPages {
		where = " of " + listOf(s.named(s.Pages, "a deleted page"), "or")
	}
	switch kind {
	case "monitor":
		return s.monitors() + where
	case "service":
		if ofMonitors || ofPages {
			return "the checking of " + s.monitors() + where
		}
		return "Allswell itself"
	case "maintenance":
		if !ofMonitors {
			return "maintenance" + where
		}
	case "delivery":
		if !ofMonitors {
			return "a subscriber" + where
		}
	case "channel":
		if !ofMonitors && !ofPages {
			return "a channel"
		}
	case "checks":
		if !ofMonitors && !ofPages {
			return "checks"
		}
	}
	return ""
}

// monitors returns which monitors the rule is about, without their pages.
func (s summary) monitors() string {
	text := "a monitor"
	if len(s.Monitors) > 0 {
		text = listOf(s.named(s.Monitors, "a deleted monitor"), "or")
	}
	if len(s.Tags) > 0 {
		text += " tagged " + listOf(s.Tags, "or")
	}
	return text
}

// later returns what the rule does after it has notified its Target, and its quiet hours.
func (s summary) later() (all []string) {
	if slices.ContainsFunc(s.Events, Event.Lasts) {
		for i, step := range s.Escalation {
			format := "after %s without acknowledgement, %s"
			if i > 0 {
				format = "then after %s, %s"
			}
			all = append(all, fmt.Sprintf(format, kernel.FormatDuration(step.After), s.notify(step.Target)))
		}
		if s.Repeat > 0 {
			all = append(all, "repeat "+kernel.FormatEvery(s.Repeat)+" until acknowledged")
		}
	}
	if q := s.QuietHours; q != nil {
		days := ""
		if len(q.Days) > 0 {
			days = " on " + listOf(dayNames(q.Days), "and")
		}
		does := "wait until " + q.Until.String()
		if !q.isEmpty() {
			does = s.notify(q.Target) + " instead"
		}
		all = append(all, fmt.Sprintf("from %s to %s%s (%s), %s", q.From, q.Until, days, q.Zone, does))
	}
	return all
}

// notify returns who is notified: "notify Phone and the person on call for Ops".
func (s summary) notify(t Target) string {
	who := s.named(t.ChannelIDs, "a deleted channel")
	for _, name := range s.named(t.OnCallIDs, "a deleted schedule") {
		who = append(who, "the person on call for "+name)
	}
	return "notify " + listOf(who, "and")
}

// named returns the names of objects. deleted stands for objects without a name.
func (s summary) named(ids []string, deleted string) (all []string) {
	for _, id := range ids {
		name := s.names[id]
		if name == "" {
			name = deleted
		}
		all = append(all, name)
	}
	return all
}

// dayNames returns the names of days: Mon, Tue.
func dayNames(days []Weekday) (all []string) {
	for _, d := range days {
		all = append(all, strings.ToUpper(string(d[:1]))+string(d[1:]))
	}
	return all
}

func textsOf[T ~string](values []T) (all []string) {
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// listOf enumerates names as enumerate does, up to maxSummaryNames entries.
func listOf(all []string, word string) string {
	if n := len(all); n > maxSummaryNames {
		all = append(all[:maxSummaryNames-1:maxSummaryNames-1], fmt.Sprintf("%d others", n-maxSummaryNames+1))
	}
	return enumerate(all, word)
}

// enumerate returns an enumeration of at least one text: "a", "a or b", "a, b or c".
func enumerate(all []string, word string) string {
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + " " + word + " " + all[len(all)-1]
}

// ReferredIDs returns the ids of all objects that the rule names.
func (r Rule) ReferredIDs() []string {
	ids := slices.Concat(r.Pages, r.Monitors)
	for _, t := range r.Targets() {
		ids = slices.Concat(ids, t.ChannelIDs, t.OnCallIDs)
	}
	return ids
}

// String returns the time as a clock shows it.
func (c ClockTime) String() string {
	at := time.Duration(c) * time.Minute
	return fmt.Sprintf("%02d:%02d", int(at.Hours()), int(at.Minutes())%60)
}
