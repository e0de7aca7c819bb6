package alert

import (
	"fmt"
	"slices"
)

// Difference says in one sentence why the rule is not about a subject, such as "It is about the tag db, the monitor has web."; "": it matches. names are those of
// pages and monitors, by their ids.
func (r Rule) Difference(s Subject, names map[string]string) string {
	_, field := r.Matches(s)
	named := summary{r, names}
	switch field {
	case "enabled":
		return "It is disabled."
	case "events":
		return fmt.Sprintf("It is about %s, not %s.", listOf(textsOf(r.Events), "or"), s.Event)
	case "pages":
		return fmt.Sprintf("It is about the page %s, the event about %s.", listOf(named.named(r.Pages, "that was deleted"), "or"), pageOf(s, named))
	case "monitors":
		about := "no monitor"
		if s.MonitorID != "" {
			about = s.Name
		}
		return fmt.Sprintf("It is about the monitor %s, the event about %s.", listOf(named.named(r.Monitors, "that was deleted"), "or"), about)
	case "tags":
		subject := "the event"
		if s.MonitorID != "" {
			subject = "the monitor"
		}
		if len(s.Tags) == 0 {
			return fmt.Sprintf("It is about the tag %s, %s has none.", listOf(r.Tags, "or"), subject)
		}
		return fmt.Sprintf("It is about the tag %s, %s has %s.", listOf(r.Tags, "or"), subject, listOf(slices.Clone(s.Tags), "and"))
	case "severities":
		return fmt.Sprintf("It is about the severity %s, the event has %s.", listOf(textsOf(r.Severities), "or"), s.Severity)
	}
	return ""
}

func pageOf(s Subject, named summary) string {
	if s.PageID == "" {
		return "no page"
	}
	return named.named([]string{s.PageID}, "a deleted page")[0]
}
