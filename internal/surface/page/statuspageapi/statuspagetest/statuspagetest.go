// Package statuspagetest checks the form of the documents of Atlassian Statuspage as strictly as the strictest client.
package statuspagetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// members are the required members of each kind of object. A member with "?" may be
// null, and a member with "@" is an instant. Other members are errors.
var members = map[string]string{
	"page":   "id name url time_zone @updated_at",
	"status": "indicator description",
	"component": "id name status @created_at @updated_at position description? showcase start_date? group_id? " +
		"page_id group only_show_if_degraded",
	"incident": "id name status @created_at @updated_at @monitoring_at? @resolved_at? impact shortlink @started_at " +
		"page_id " +
		"incident_updates components",
	"update": "id status body incident_id @created_at @updated_at @display_at affected_components? " +
		"deliver_notifications " +
		"custom_tweet? tweet_id?",
	"affected": "code name old_status new_status",
}

func init() {
	members["group"] = members["component"] + " components"
	members["maintenance"] = members["incident"] + " @scheduled_for @scheduled_until"
}

// Documents are the names of the documents, with the members of each.
var Documents = map[string]string{
	"summary.json": "page components incidents scheduled_maintenances status",
	"status.json":  "page status", "components.json": "page components",
	"incidents.json": "page incidents", "incidents/unresolved.json": "page incidents",
	"scheduled-maintenances.json":          "page scheduled_maintenances",
	"scheduled-maintenances/upcoming.json": "page scheduled_maintenances",
	"scheduled-maintenances/active.json":   "page scheduled_maintenances",
}

var (
	instantPattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	linkPattern    = regexp.MustCompile(`^https?://.*/(incidents|maintenances)/[a-z0-9_-]+$`)
	datePattern    = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
	statusWords    = []string{
		"operational", "degraded_performance", "partial_outage", "major_outage", "under_maintenance",
	}
	incidentWord = []string{"investigating", "identified", "monitoring", "resolved", "postmortem"}
	plannedWords = []string{"scheduled", "in_progress", "verifying", "completed"}
	indicators   = []string{"none", "minor", "major", "critical", "maintenance"}
)

// checker collects the errors of a document.
type checker struct {
	faults []string
	where  string
}

func (j *checker) fault(format string, args ...any) {
	if len(j.faults) < 20 {
		j.faults = append(j.faults, j.where+": "+fmt.Sprintf(format, args...))
	}
}

// Faults returns the errors in the form of a document.
func Faults(path string, body []byte) []string {
	j := &checker{where: path}
	var doc map[string]any
	if err := json.Unmarshal(body, &doc); err != nil {
		return []string{path + ": " + err.Error()}
	}
	members := strings.Fields(Documents[path])
	slices.Sort(members)
	if got := slices.Sorted(maps.Keys(doc)); !slices.Equal(got, members) {
		j.fault("members %v, want %v", got, members)
		return j.faults
	}
	j.object("page", doc["page"])
	if status, ok := doc["status"]; ok {
		s := j.object("status", status)
		j.word(s, "indicator", indicators)
	}
	if components, ok := doc["components"]; ok {
		j.components(components, false)
		j.tree(components)
	}
	if incidents, ok := doc["incidents"]; ok {
		j.list(incidents, func(v any) { j.incident("incident", v, incidentWord) })
	}
	if planned, ok := doc["scheduled_maintenances"]; ok {
		j.list(planned, func(v any) { j.incident("maintenance", v, plannedWords) })
	}
	return j.faults
}

// object checks that a value has exactly the members of its kind.
func (j *checker) object(kind string, v any) map[string]any {
	o, ok := v.(map[string]any)
	if !ok {
		j.fault("%v is not a %s", v, kind)
		return map[string]any{}
	}
	var want []string
	for _, m := range strings.Fields(members[kind]) {
		name := strings.Trim(m, "@?")
		want = append(want, name)
		switch value := o[name].(type) {
		case nil:
			if !strings.HasSuffix(m, "?") {
				j.fault("%s of a %s is null or missing", name, kind)
			}
		case string:
			if value == "" {
				j.fault(`%s of a %s is ""`, name, kind)
			}
			if strings.HasPrefix(m, "@") && !instantPattern.MatchString(value) {
				j.fault("%s of a %s is %q", name, kind, value)
			}
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(o)); !slices.Equal(got, want) {
		j.fault("a %s has the members %v, want %v", kind, got, want)
	}
	return o
}

func (j *checker) list(v any, each func(any)) {
	list, ok := v.([]any)
	if !ok {
		j.fault("%v is not a list", v)
	}
	for _, item := range list {
		each(item)
	}
}

func (j *checker) word(o map[string]any, name string, words []string) {
	if s, _ := o[name].(string); !slices.Contains(words, s) {
		j.fault("%s is %v", name, o[name])
	}
}

func (j *checker) components(v any, within bool) {
	j.list(v, func(v any) {
		kind := "component"
		if m, _ := v.(map[string]any); m["group"] == true {
			kind = "group"
			if within {
				j.fault("a group belongs to an incident")
			}
		}
		c := j.object(kind, v)
		j.word(c, "status", statusWords)
		if date, ok := c["start_date"].(string); ok && !datePattern.MatchString(date) {
			j.fault("start_date is %q", date)
		}
		if position, _ := c["position"].(float64); position < 1 || position != float64(int(position)) {
			j.fault("position is %v", c["position"])
		}
		for _, name := range []string{"showcase", "group", "only_show_if_degraded"} {
			if _, ok := c[name].(bool); !ok {
				j.fault("%s is %v", name, c[name])
			}
		}
	})
}

// tree checks that groups and components refer to each other, and that positions within a group count from 1.
func (j *checker) tree(v any) {
	next := map[any]float64{}
	children := map[any][]any{}
	list, _ := v.([]any)
	for _, v := range list {
		c, _ := v.(map[string]any)
		next[c["group_id"]]++
		if c["position"] != next[c["group_id"]] {
			j.fault("%v is at position %v, want %v", c["id"], c["position"], next[c["group_id"]])
		}
		if c["group_id"] != nil {
			children[c["group_id"]] = append(children[c["group_id"]], c["id"])
		}
	}
	for _, v := range list {
		c, _ := v.(map[string]any)
		if c["group"] == true {
			if !reflect.DeepEqual(c["components"], children[c["id"]]) {
				j.fault("group %v has %v, and %v say they are in it", c["id"], c["components"], children[c["id"]])
			}
			delete(children, c["id"])
		}
	}
	if len(children) > 0 {
		j.fault("no group has %v", children)
	}
}

func (j *checker) incident(kind string, v any, words []string) {
	inc := j.object(kind, v)
	j.word(inc, "status", words)
	impacts := []string{"none", "minor", "major", "critical"}
	if kind == "maintenance" {
		impacts = []string{"maintenance"}
	}
	j.word(inc, "impact", impacts)
	over := inc["status"] == "resolved" || inc["status"] == "postmortem" || inc["status"] == "completed"
	if over != (inc["resolved_at"] != nil) {
		j.fault("a %s is %v and resolved at %v", kind, inc["status"], inc["resolved_at"])
	}
	if link, _ := inc["shortlink"].(string); !linkPattern.MatchString(link) {
		j.fault("shortlink is %q", link)
	}
	j.components(inc["components"], true)
	last := "9999"
	j.list(inc["incident_updates"], func(v any) {
		u := j.object("update", v)
		j.word(u, "status", words)
		if u["incident_id"] != inc["id"] {
			j.fault("an update of %v is in %v", u["incident_id"], inc["id"])
		}
		at, _ := u["created_at"].(string)
		if at > last {
			j.fault("updates are not newest first: %s after %s", at, last)
		}
		last = at
		if u["affected_components"] == nil {
			return
		}
		if list, _ := u["affected_components"].([]any); len(list) == 0 {
			j.fault("affected_components is %v, want null", u["affected_components"])
		}
		j.list(u["affected_components"], func(v any) {
			a := j.object("affected", v)
			j.word(a, "old_status", statusWords)
			j.word(a, "new_status", statusWords)
		})
	})
}
