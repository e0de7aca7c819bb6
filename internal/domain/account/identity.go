package account

import (
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Identity is a person as an OpenID Connect provider or a reverse proxy names them.
type Identity struct {
	Issuer string // URL of the provider, or IssuerProxy
	// identifies the person at the issuer permanently; an email address may be reassigned to somebody else
	Subject       string
	Email         string
	EmailVerified bool // the issuer has checked that the address belongs to the person
	Name          string
	Groups        []string
	GroupsKnown   bool      // the issuer has named the groups, even if there are none
	ConfirmedAt   time.Time // when the person last proved who they are; zero: not known
}

// IssuerProxy is the issuer of identities that a reverse proxy reports.
const IssuerProxy = "proxy"

// Method returns the sign-in method of the identity's sessions.
func (i Identity) Method() SignInMethod {
	if i.Issuer == IssuerProxy {
		return SignInProxy
	}
	return SignInOIDC
}

// DisplayName returns a valid name for the user: the name in the identity, or else the beginning of its email address.
func (i Identity) DisplayName() string {
	name := kernel.OneLine(i.Name)
	var bad kernel.ValidationError
	if kernel.CheckLine(&bad, "name", name, kernel.MaxNameLength); bad.Err() != nil {
		name, _, _ = strings.Cut(i.Email, "@")
	}
	return name
}

// SignInRules decide which identities become members of a workspace.
type SignInRules struct {
	Workspace      string // its name; "": the first workspace
	Groups         map[string]kernel.Role
	Domains        map[string]kernel.Role // of verified email addresses, in lower case
	CreateAccounts bool                   // new people may join
}

// Role returns the highest role of the identity's groups and of its domain, or "".
func (r SignInRules) Role(i Identity) kernel.Role {
	var highest kernel.Role
	raise := func(role kernel.Role) {
		if role.Rank() > highest.Rank() {
			highest = role
		}
	}
	for _, g := range i.Groups {
		raise(r.Groups[g])
	}
	if _, domain, ok := strings.Cut(kernel.NormalizeEmail(i.Email), "@"); ok && i.EmailVerified {
		raise(r.Domains[domain])
	}
	return highest
}

// ManagesRole reports whether the identity's groups decide about the role of a member at every sign-in.
func (r SignInRules) ManagesRole(i Identity) bool { return len(r.Groups) > 0 && i.GroupsKnown }

// ParseSignInRoles parses rules such as "ops=admin, @example.com=viewer": groups, and domains after an @.
func ParseSignInRoles(text string) (groups, domains map[string]kernel.Role, err error) {
	groups, domains = map[string]kernel.Role{}, map[string]kernel.Role{}
	for rule := range strings.SplitSeq(text, ",") {
		if rule = strings.TrimSpace(rule); rule == "" {
			continue
		}
		end := strings.LastIndexByte(rule, '=') // a group may contain one
		name, role := strings.TrimSpace(rule[:max(end, 0)]), kernel.Role(strings.ToLower(strings.TrimSpace(rule[end+
			1:])))
		domain, isDomain := strings.CutPrefix(name, "@")
		if name == "" || !role.Valid() || isDomain && !strings.Contains(domain, ".") {
			return nil, nil,
				fmt.Errorf("GROUP=ROLE and @DOMAIN=ROLE, separated by commas, such as ops=admin, "+
					"@example.com=viewer, not %q", rule)
		}
		if isDomain {
			domains[strings.ToLower(domain)] = role
		} else {
			groups[name] = role
		}
	}
	return groups, domains, nil
}

// IdentityError is why an identity cannot sign in.
type IdentityError string

func (e IdentityError) Error() string { return string(e) }

// The reasons why an identity cannot sign in, for the person who tries it.
const (
	IdentityNoEmail    IdentityError = "Your identity provider did not send your email address."
	IdentityUnverified IdentityError = "You have not signed in here before, and your identity provider does not " +
		"say that your email address is verified. Please ask an administrator of the provider."
	IdentityOtherSubject IdentityError = "The account with your email address belongs to another person at your " +
		"identity provider. An administrator of the server can separate them with `allswell user reset`."
	IdentityNoRole    IdentityError = "None of your groups has a role here. Please ask an admin."
	IdentityNoAccount IdentityError = "You are not a member of any workspace here. Please ask an admin for an " +
		"invitation."
)

// LinkedIdentity is a user who can sign in with an identity.
type LinkedIdentity struct {
	User
	Issuer string
}

// AuditObject returns the form of l in the audit log.
func (l LinkedIdentity) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{
		Kind: kernel.ObjectUser, ID: l.ID, Name: l.Name, Fields: map[string]any{"identity_provider": l.Issuer},
	}
}
