package alert

import (
	"fmt"
	"slices"
)

// Difference returns the reason why the rule does not match a subject, as a sentence such as "The rule covers the tag
// db; the monitor has the tag web."; "": it matches. names maps the ids of pages and monitors to their names.
func (r Rule) Difference(s Subject, names map[string]string) string {
	_, field := r.Matches(s)
	var covers, subject string
	switch field {
	case "":
		return ""
	case "enabled":
		return "The rule is disabled."
	case "events":
		var labels []string
		for _, e := range r.Events {
			labels = append(labels, "“"+e.Label()+"”")
		}
		covers, subject = listOf(labels, "or"), "the event is “"+s.Event.Label()+"”"
	case "pages":
		covers, subject = eitherNamed("page", r.Pages, names), "the event is about no page"
		if s.PageID != "" {
			subject = "the event is about " + eitherNamed("page", []string{s.PageID}, names)
		}
	case "monitors":
		covers, subject = eitherNamed("monitor", r.Monitors, names), "the event is about no monitor"
		if s.MonitorID != "" {
			subject = "the event is about another monitor" // a deleted one has no name
		}
		if s.MonitorID != "" && s.Name != "" {
			subject = "the event is about the monitor " + s.Name
		}
	case "tags":
		covers, subject = "the tag "+listOf(r.Tags, "or"), "the event has"
		if s.MonitorID != "" {
			subject = "the monitor has"
		}
		switch len(s.Tags) {
		case 0:
			subject += " no tag"
		case 1:
			subject += " the tag " + s.Tags[0]
		default:
			subject += " the tags " + listOf(slices.Clone(s.Tags), "and")
		}
	case "severities":
		covers, subject = "the severity "+listOf(textsOf(r.Severities), "or"),
			"the event has the severity "+string(s.Severity)
	}
	return fmt.Sprintf("The rule covers %s; %s.", covers, subject)
}

// eitherNamed returns objects of a kind by their names: "the page Docs or Shop". Objects without a name have been
// deleted, and come last.
func eitherNamed(kind string, ids []string, names map[string]string) string {
	var all []string
	for _, id := range ids {
		if name := names[id]; name != "" {
			all = append(all, name)
		}
	}
	deleted := len(ids) - len(all)
	if len(all) > 0 {
		all[0] = "the " + kind + " " + all[0]
	}
	if deleted > 0 {
		all = append(all, "a deleted "+kind)
	}
	return listOf(all, "or")
}
