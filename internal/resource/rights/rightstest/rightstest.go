// Package rightstest checks that routes name operations that fit their methods and paths, for the tests of the
// surfaces.
package rightstest

import (
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/resource/rights"
)

// onPages are the segments of paths below a page that are resources of their own.
var onPages = []string{
	"access", "announcements", "components", "deliveries", "groups", "incidents", "maintenances", "ping-key",
	"subscribers",
}

// resources maps a segment of a path to the resource in the names of operations, where the segment is not its plural.
var resources = map[string]string{
	"": "account", "access": "page_access", "deliveries": "delivery", "invitations": "member", "live": "account",
	"new-page": "page", "search": "account", "setup": "page", "switch-workspace": "account", "visit": "page",
}

// Check checks the operation of a route that needs a right. path begins after the prefix of the surface, without a
// slash. rehearsal means that the route changes nothing, whatever its method.
func Check(t testing.TB, method, path string, o rights.Operation, rehearsal bool) {
	t.Helper()
	if !slices.Contains(rights.All, o) {
		t.Errorf("%s %s: the operation %q is not in the table", method, path, o.Name)
	}
	resource, verb, _ := strings.Cut(o.Name, ".")
	if want := resourceOf(path); resource != want {
		t.Errorf("%s %s is about %s, and its operation is %s", method, path, want, o.Name)
	}
	form := strings.HasSuffix(path, "/new") || strings.HasSuffix(path, "/edit")
	changes := form || method != "GET" && !rehearsal
	if changes && strings.HasPrefix(verb, "read") {
		t.Errorf("%s %s changes something, and its operation is %s", method, path, o.Name)
	}
}

// resourceOf returns the resource that the operation of a path names.
func resourceOf(path string) string {
	segments := strings.Split(path, "/")
	name := segments[0]
	if name == "pages" && len(segments) > 2 && slices.Contains(onPages, segments[2]) {
		name = segments[2]
	}
	if segments[len(segments)-1] == "silence" {
		name = "silence"
	}
	if resource, ok := resources[name]; ok {
		return resource
	}
	return strings.ReplaceAll(strings.TrimSuffix(name, "s"), "-", "_")
}
