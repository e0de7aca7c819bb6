package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// invitedFields says for each field of an invitation which values the ways in are tried with. A field that is missing
// here fails TestEveryWayIntoAWorkspaceKeepsTheInvitation.
var invitedFields = map[string][]func(*account.NewInvitation){
	"Email": {func(n *account.NewInvitation) { n.Email = "somebody@example.com" }}, // another one each time
	"Role": {
		func(n *account.NewInvitation) { n.Role = kernel.RoleViewer },
		func(n *account.NewInvitation) { n.Role = kernel.RoleEditor },
		func(n *account.NewInvitation) { n.Role = kernel.RoleAdmin },
		func(n *account.NewInvitation) { n.Role = kernel.RoleOwner },
	},
	"Limit": {
		func(*account.NewInvitation) {},
		func(n *account.NewInvitation) { n.Limit = account.LimitTo([]string{"a"}) },
		func(n *account.NewInvitation) { n.Limit = account.LimitTo([]string{"a", "b"}) },
	},
}

// wayIn is a way to accept an invitation: it returns the secret of a session.
type wayIn struct {
	account bool // the address has an account before
	enter   func(w *world, code, email string) (string, error)
}

func waysIn() map[string]wayIn {
	byIdentity := func(issuer string, rules account.SignInRules) func(*world, string, string) (string, error) {
		return func(w *world, _, email string) (string, error) {
			i := identity(email)
			i.Issuer, i.GroupsKnown = issuer, false
			return w.SignInIdentity(w.ctx, i, rules, store.Browser{Address: "192.0.2.9"})
		}
	}
	byDomain := account.SignInRules{
		CreateAccounts: true, Domains: map[string]kernel.Role{"example.com": kernel.RoleViewer},
	}
	byAccount := func(w *world, code, _ string) (string, error) {
		found, err := w.FindInvitation(w.ctx, code)
		if err != nil {
			return "", err
		}
		return w.AcceptInvitation(w.ctx, code, store.Acceptance{UserID: found.UserID},
			store.Browser{Address: "192.0.2.9"})
	}
	return map[string]wayIn{
		"a new password": {false, func(w *world, code, _ string) (string, error) {
			return w.AcceptInvitation(w.ctx, code, store.Acceptance{Name: "Grace", PasswordHash: "hash"},
				store.Browser{Address: "192.0.2.9"})
		}},
		"an account that has signed in":           {true, byAccount},
		"OpenID Connect":                          {false, byIdentity(issuer, account.SignInRules{})},
		"OpenID Connect with an account":          {true, byIdentity(issuer, account.SignInRules{})},
		"OpenID Connect and a rule of the domain": {false, byIdentity(issuer, byDomain)},
		"a proxy":                                 {false, byIdentity(account.IssuerProxy, account.SignInRules{})},
		"a proxy and a rule of the domain":        {false, byIdentity(account.IssuerProxy, byDomain)},
		"a proxy with an account and such a rule": {true, byIdentity(account.IssuerProxy, byDomain)},
		"OpenID Connect to the platform workspace": {false,
			byIdentity(issuer, account.SignInRules{Workspace: "platform", CreateAccounts: false})},
	}
}

// invitationCases returns an invitation for every combination of the values of fields that is valid.
func invitationCases() []account.NewInvitation {
	all := []account.NewInvitation{{}}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[account.NewInvitation]()) {
		var next []account.NewInvitation
		for _, n := range all {
			for _, set := range invitedFields[f.Name] {
				n := n
				set(&n)
				next = append(next, n)
			}
		}
		all = next
	}
	return slices.DeleteFunc(all, func(n account.NewInvitation) bool { return n.Validate() != nil })
}

// TestEveryWayIntoAWorkspaceKeepsTheInvitation accepts every kind of invitation in every way: the membership is what
// the invitation says, its pages are the only ones that the session reaches, it is used up, and the audit log has both.
func TestEveryWayIntoAWorkspaceKeepsTheInvitation(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		for _, slug := range []string{"a", "b", "c"} {
			must(w.CreatePage(w.ctx, owner, resource.Page.From(statuspage.Page{Name: slug, Slug: slug})))(w)
		}
		cases := invitationCases()
		if len(cases) != 8 {
			w.Fatalf("%d kinds of invitations, want 8: is a field missing from invitedFields?", len(cases))
		}
		count := 0
		for name, way := range waysIn() {
			for _, n := range cases[:w.rounds(len(cases))] {
				count++
				n.Email = fmt.Sprintf("Grace%d@Example.com", count)
				w.acceptsAsInvited(name, way, owner, n)
			}
		}
	})
}

// acceptsAsInvited accepts an invitation in one way, checks what it gave, and removes the member again.
func (w *world) acceptsAsInvited(name string, way wayIn, owner kernel.Actor, n account.NewInvitation) {
	w.Helper()
	email := kernel.NormalizeEmail(n.Email)
	if way.account {
		old := w.signedIn(w.joined(email, kernel.RoleViewer))
		w.ok(w.RemoveMember(w.ctx, owner, old.ID))
	}
	issued := must(w.Invite(w.ctx, owner, n))(w)
	secret, err := way.enter(w, issued.Code, email)
	if err != nil {
		w.Fatalf("%s: %+v: %v", name, n, err)
	}
	in := must(w.FindSession(w.ctx, secret))(w)
	members, _, err := w.Members(w.ctx, owner, firstHundred)
	at := slices.IndexFunc(members, func(m account.Member) bool { return m.Email == email })
	if err != nil || at < 0 {
		w.Fatalf("%s: %+v: no member: %v", name, n, err)
	}
	m := members[at]
	if m.Role != n.Role || !reflect.DeepEqual(m.Limit, n.Limit) || in.Role != n.Role ||
		in.WorkspaceID != owner.WorkspaceID {
		w.Errorf("%s: the invitation %+v made the member %+v", name, n, m)
	}
	reached, _, err := w.Pages(w.ctx, in.Actor("192.0.2.9"), store.Filter{}, firstHundred)
	want := []string{"a", "acme", "b", "c"}
	if n.Limit.Limited {
		want = n.Limit.Pages
	}
	var slugs []string
	for _, p := range reached {
		slugs = append(slugs, p.Slug)
	}
	slices.Sort(slugs)
	if err != nil || !slices.Equal(slugs, want) {
		w.Errorf("%s: invited to %v, reaches %v, %v", name, want, slugs, err)
	}
	log, _, err := w.AuditLog(w.ctx, owner, kernel.AuditFilter{ActorID: m.ID}, "", 100)
	var seen []string
	for _, e := range log {
		if len(seen) < 2 && (e.Object.Kind == kernel.ObjectMember || e.Object.Kind == kernel.ObjectInvitation) {
			seen = append(seen, string(e.Object.Kind)+" "+string(e.Action)+" "+e.Actor.Address)
			given := string(e.After) + string(e.Before)
			if !strings.Contains(given, strings.Join(n.Limit.Pages, ", ")) || !strings.Contains(given, string(n.Role)) {
				w.Errorf("%s: the audit log has %s", name, given)
			}
		}
	}
	if !slices.Equal(seen, []string{"member create 192.0.2.9", "invitation delete 192.0.2.9"}) {
		w.Errorf("%s: the audit log has %q, %v", name, seen, err)
	}
	if _, err := w.FindInvitation(w.ctx, issued.Code); err == nil {
		w.Errorf("%s: the invitation can be accepted twice", name)
	}
	if m.Role == kernel.RoleOwner {
		must(w.ChangeMember(w.ctx, owner, m.ID, account.MemberChange{Role: kernel.RoleViewer}))(w)
	}
	w.ok(w.RemoveMember(w.ctx, owner, m.ID))
}

// TestNoWayAcceptsAnInvitationThatIsOver tries every way with an invitation that was withdrawn, has expired, or was
// replaced by another one, which counts alone.
func TestNoWayAcceptsAnInvitationThatIsOver(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		count := 0
		for name, way := range waysIn() {
			count++
			n := account.NewInvitation{Email: fmt.Sprintf("grace%d@example.com", count), Role: kernel.RoleEditor}
			if strings.Contains(name, "rule") { // the rule lets them in without an invitation
				continue
			}
			if way.account {
				old := w.signedIn(w.joined(n.Email, kernel.RoleViewer))
				w.ok(w.RemoveMember(w.ctx, owner, old.ID))
			}
			withdrawn := must(w.Invite(w.ctx, owner, n))(w)
			w.ok(w.WithdrawInvitation(w.ctx, owner, withdrawn.ID))
			if _, err := way.enter(w, withdrawn.Code, n.Email); err == nil {
				w.Errorf("%s: accepted after it was withdrawn", name)
			}
			expired := must(w.Invite(w.ctx, owner, n))(w)
			w.clock.move(account.InvitationAge)
			if _, err := way.enter(w, expired.Code, n.Email); err == nil {
				w.Errorf("%s: accepted after it had expired", name)
			}
			w.clock.move(time.Minute)
		}
	})
}

// TestIdentityAcceptsInvitationsToItsAddressOnly invites an account that an identity belongs to, and signs in with
// every other address that a provider can name. Only the account's own, verified, accepts the invitation.
func TestIdentityAcceptsInvitationsToItsAddressOnly(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		none := account.SignInRules{}
		rule := account.SignInRules{
			CreateAccounts: true, Domains: map[string]kernel.Role{"example.com": kernel.RoleViewer},
		}
		count := 0
		for _, from := range []string{issuer, account.IssuerProxy} {
			for name, rules := range map[string]account.SignInRules{"no rule": none, "a rule of the domain": rule} {
				for _, c := range []struct {
					address            string // "%s" is the account's
					verified, accepted bool
				}{
					{"%s", true, true}, {"  %s ", true, true}, {"%S", true, true}, {"%s", false, false},
					{"", true, false}, {"", false, false},
					{"other-%s", true, false}, {"other-%s", false, false}, {"%s.org", true, false},
					{"ada@example.com", true, false},
				} {
					count++
					i := identity(fmt.Sprintf("grace%d@example.com", count))
					address := i.Email
					i.Issuer, i.GroupsKnown = from, false
					grace := w.signedIn(w.joined(address, kernel.RoleViewer))
					must(w.SignInIdentity(w.ctx, i, none, store.Browser{}))(w) // now it is the account's
					w.ok(w.RemoveMember(w.ctx, owner, grace.ID))
					invited := must(w.Invite(w.ctx, owner, account.NewInvitation{
						Email: address, Role: kernel.RoleEditor,
					}))(w)
					i.Email, i.EmailVerified =
						strings.NewReplacer("%s", address, "%S", strings.ToUpper(address)).Replace(c.address),
						c.verified
					secret, err := w.SignInIdentity(w.ctx, i, rules, store.Browser{})
					what := fmt.Sprintf("%s with %s: %q, verified: %v", from, name, i.Email, i.EmailVerified)
					role := kernel.Role("")
					if err == nil {
						role = must(w.FindSession(w.ctx, secret))(w).Role
					}
					want := rules.Role(i)
					if c.accepted {
						want = kernel.RoleEditor
					}
					if role != want {
						w.Errorf("%s: the role %q, want %q: %v", what, role, want, err)
					}
					if _, err := w.FindInvitation(w.ctx, invited.Code); (err != nil) != c.accepted {
						w.Errorf("%s: the invitation afterwards: %v", what, err)
					}
				}
			}
		}
	})
}

// TestInvitationIsOfOneAccount accepts an invitation as every account that exists, with every password that it has had,
// and as a new one.
func TestInvitationIsOfOneAccount(t *testing.T) {
	inWorlds(t, func(w *world) {
		owner := w.signedIn(w.joined("ada@example.com", kernel.RoleOwner))
		bob := w.signedIn(w.joined("bob@example.com", kernel.RoleViewer))
		w.ok(w.ChangePassword(w.ctx, bob, "second hash"))
		w.ok(w.RemoveMember(w.ctx, owner, bob.ID))
		for address, right := range map[string]store.Acceptance{
			"bob@example.com": {UserID: bob.ID, PasswordHash: "second hash"},
			"new@example.com": {Name: "New", PasswordHash: "hash"},
		} {
			for _, a := range []store.Acceptance{
				{}, {Name: "New", PasswordHash: "hash"}, {UserID: owner.ID}, {UserID: owner.ID, PasswordHash: "hash"},
				{UserID: "usr_other"},
				{UserID: bob.ID, PasswordHash: "hash"}, {UserID: bob.ID, PasswordHash: "second hash"},
				{UserID: bob.ID, Method: account.SignInOIDC},
			} {
				accepted := a.UserID == right.UserID &&
					(a.PasswordHash == right.PasswordHash || a.PasswordHash == "" && a.UserID != "")
				invited := must(w.Invite(w.ctx, owner, account.NewInvitation{
					Email: address, Role: kernel.RoleEditor,
				}))(w)
				before := w.dump()
				secret, err := w.AcceptInvitation(w.ctx, invited.Code, a, store.Browser{})
				if (err == nil) != accepted {
					w.Errorf("the invitation of %s is accepted by %+v: %v", address, a, err)
				}
				if err != nil && w.dump() != before {
					w.Errorf("%+v is refused and changes something", a)
				}
				if err != nil {
					w.ok(w.WithdrawInvitation(w.ctx, owner, invited.ID))
					continue
				}
				in := must(w.FindSession(w.ctx, secret))(w)
				if in.User.Email != address || in.Role != kernel.RoleEditor {
					w.Errorf("%+v: signed in %+v", a, in)
				}
				w.ok(w.RemoveMember(w.ctx, owner, in.User.ID))
				w.run(`DELETE FROM users WHERE id = $1 AND id <> $2`, in.User.ID, bob.ID)
			}
		}
	})
}
