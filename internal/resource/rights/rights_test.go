package rights

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

var update = flag.Bool("update", false, "write docs/rights.md")

// TestRights checks the table for what must never be in it, whatever else changes.
func TestRights(t *testing.T) {
	names := map[string]bool{}
	for _, o := range All {
		if names[o.Name] || !regexp.MustCompile(`^[a-z_]+\.[a-z_]+$`).MatchString(o.Name) || o.Text == "" {
			t.Errorf("%q: a name is lower case, exists once, and has a text", o.Name)
		}
		names[o.Name] = true
		ofMembers := o.Scope == ""
		if !ofMembers && !slices.Contains([]Right{View, Operate, Manage, Administer}, o.Right) {
			t.Errorf("%s needs a right of its own: %+v", o.Name, o.Right)
		}
		if !o.Role.Valid() {
			t.Errorf("%s is allowed to no member", o.Name)
		}
		_, verb, _ := strings.Cut(o.Name, ".")
		if o.Right == View && verb != "read" {
			t.Errorf("%s is allowed to those who only read", o.Name)
		}
		if !ofMembers && o.Scope == kernel.ScopeAdmin && o.Reach != Workspace {
			t.Errorf("%s: tokens with the scope admin cannot be limited to pages", o.Name)
		}
	}
}

// TestFixedRights checks what other promises rest on: the calls of the contract need no more than write, and personal
// data, credentials and the keys of the workspace no less than what docs/decisions/0121-one-table-of-rights.md says.
func TestFixedRights(t *testing.T) {
	for _, o := range []Operation{ComponentChange, IncidentChange} {
		if o.Right != Operate {
			t.Errorf("%s needs %+v: the tokens of the contract have the scope write", o.Name, o.Right)
		}
	}
	for _, o := range []Operation{SubscriberRead, SubscriberChange, DeliveryRecipients, PageChange, PageAccessChange} {
		if o.Right != Manage {
			t.Errorf("%s needs %+v", o.Name, o.Right)
		}
	}
	for _, o := range []Operation{PingKeyRead, MonitorSecrets, PageAccessRead} {
		if o.Right != Operate {
			t.Errorf("%s needs %+v", o.Name, o.Right)
		}
	}
	for _, o := range []Operation{TokenManage, MemberManage, SessionManage, AuditRead, ChannelChange, AlertRuleChange} {
		if o.Right != Administer {
			t.Errorf("%s needs %+v", o.Name, o.Right)
		}
	}
	for _, o := range []Operation{
		PageCreate, SharedTemplateChange, SilenceChange, OnCallChange, ChannelRead, AlertRuleRead,
	} {
		if o.CheckLimit(kernel.Actor{PageLimited: true}) == nil || o.CheckLimit(kernel.Actor{}) != nil {
			t.Errorf("%s is about the whole workspace", o.Name)
		}
	}
}

// TestAllowed checks who may do an operation, and that nobody may do what is not in the table.
func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		o             Operation
		scopes, roles string
	}{
		{ComponentRead, "read write admin", "viewer editor admin owner"},
		{OnCallChange, "write admin", "editor admin owner"},
		{PageChange, "write admin", "admin owner"},
		{TokenManage, "admin", "admin owner"},
		{SystemBackUp, "", "owner"},
		{Operation{}, "", ""},
	} {
		var scopes, roles []string
		for _, s := range append([]kernel.Scope{"", "other"}, kernel.Scopes...) {
			if c.o.AllowsScope(s) {
				scopes = append(scopes, string(s))
			}
		}
		for _, r := range append([]kernel.Role{"", "other"}, kernel.Roles...) {
			if c.o.AllowsRole(r) {
				roles = append(roles, string(r))
			}
		}
		if got, want := strings.Join(scopes, " ")+"; "+strings.Join(roles, " "), c.scopes+"; "+c.roles; got != want {
			t.Errorf("%s is allowed to %s; want %s", c.o.Name, got, want)
		}
	}
}

const head = `<!-- Written by ` + "`go generate ./internal/resource/rights`" +
	` from the table in internal/resource/rights/rights.go. -->
# Rights

The scope says what a token may do, the role what a member may do. Each scope and each role includes the ones before it:
read, write, admin; viewer, editor, admin, owner. Tokens and members who are limited to pages may do it only there, and
not what is marked with *workspace*. The [decision](decisions/0121-one-table-of-rights.md) has the reasons.
`

// document returns docs/rights.md: the operations by the right that they need, in the order of the table.
func document() string {
	var b strings.Builder
	b.WriteString(head)
	for _, role := range kernel.Roles {
		for _, scope := range append(slices.Clone(kernel.Scopes), "") {
			writeSection(&b, Right{scope, role})
		}
	}
	return b.String()
}

// writeSection writes the operations that need exactly a right.
func writeSection(b *strings.Builder, right Right) {
	title := fmt.Sprintf("\n## Scope %s, role %s\n\n", right.Scope, right.Role)
	if right.Scope == "" {
		title = fmt.Sprintf("\n## No token, role %s\n\n", right.Role)
	}
	for _, o := range All {
		if o.Right != right {
			continue
		}
		b.WriteString(title)
		title = ""
		fmt.Fprintf(b, "- `%s`: %s", o.Name, o.Text)
		if o.Reach == Workspace {
			b.WriteString(" (*workspace*)")
		}
		b.WriteString("\n")
	}
}

// TestDocument checks that docs/rights.md is the table. With -update it writes it.
func TestDocument(t *testing.T) {
	want := document()
	const file = "../../../docs/rights.md"
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != want {
		t.Errorf("docs/rights.md is not current (%v): run `go generate ./internal/resource/rights`", err)
	}
}
