package dashboard_test

import (
	"html/template"
	"slices"
	"strings"
	"testing"
	"text/template/parse"

	"github.com/allswell/allswell/internal/surface/dashboard"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// derived is in the name of the variants of a part that html/template adds when it escapes a screen, at the first time
// that another test shows it. They include each other by names that are not in the list of templates.
const derived = "$htmltemplate_"

// TestTemplatesHaveTheirParts checks that every part that a template includes is in its room or in the frame, and that
// no two rooms have a screen of the same name.
func TestTemplatesHaveTheirParts(t *testing.T) {
	d := dashboard.New(dashboard.Config{})
	seen := make(map[string]bool)
	for _, room := range []frame.Room{
		d.SignIn.Room(), d.StatusPages.Room(), d.Monitors.Room(), d.Alerting.Room(), d.Subscribers.Room(),
		d.Workspace.Room(),
	} {
		for name, screen := range room.Templates() {
			if seen[name] {
				t.Errorf("there are two screens %s", name)
			}
			seen[name] = true
			for _, part := range screen.Templates() {
				if part.Tree == nil || strings.Contains(part.Name(), derived) {
					continue
				}
				for _, included := range includedIn(part.Tree.Root) {
					included, _, _ = strings.Cut(included, derived)
					if !slices.ContainsFunc(screen.Templates(), func(p *template.Template) bool {
						return p.Name() == included
					}) {
						t.Errorf("%s: %s includes %s, which does not exist", name, part.Name(), included)
					}
				}
			}
		}
	}
	if len(seen) < 40 {
		t.Errorf("there are only %d screens", len(seen))
	}
}

// includedIn returns the names of the templates that a node includes.
func includedIn(node parse.Node) (names []string) {
	lists := func(all ...*parse.ListNode) {
		for _, list := range all {
			if list == nil {
				continue
			}
			for _, n := range list.Nodes {
				names = append(names, includedIn(n)...)
			}
		}
	}
	switch n := node.(type) {
	case *parse.TemplateNode:
		names = append(names, n.Name)
	case *parse.ListNode:
		lists(n)
	case *parse.IfNode:
		lists(n.List, n.ElseList)
	case *parse.WithNode:
		lists(n.List, n.ElseList)
	case *parse.RangeNode:
		lists(n.List, n.ElseList)
	}
	return names
}
