package cli

import (
	"strings"

	"github.com/allswell/allswell"
)

// HelpVariables are the variables in the help texts of the commands.
func HelpVariables() map[string]string {
	return map[string]string{
		"statuses":          enumerate(allswell.Statuses),
		"affected_statuses": enumerate(allswell.AffectedStatuses),
		"down_statuses":     enumerate(allswell.DownStatuses),
	}
}

// enumerate returns statuses without aliases: "a, b or c".
func enumerate(statuses []allswell.Status) string {
	var names []string
	for _, s := range statuses {
		if s.Canonical() == s {
			names = append(names, string(s))
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
