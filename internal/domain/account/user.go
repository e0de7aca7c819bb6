package account

import (
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// User is a person who can sign in. The email address is unique and in lower case.
type User struct {
	ID        string
	Email     string
	Name      string
	CreatedAt time.Time
}

// AuditObject returns the form of u in the audit log.
func (u User) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{Kind: kernel.ObjectUser, ID: u.ID, Name: u.Name, Fields: map[string]any{"name": u.Name}}
}

// Member is a user in a workspace.
type Member struct {
	User
	WorkspaceID string
	Role        kernel.Role
	Limit       PageLimit
	Since       time.Time
	LastSeenAt  time.Time // precise to some minutes; zero: not since the member joined
	Factors     Factors
}

// AuditObject returns the form of m in the audit log.
func (m Member) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{
		Kind: kernel.ObjectMember, ID: m.ID, Name: m.Name,
		Fields: map[string]any{"role": string(m.Role), "pages": m.Limit.field()},
	}
}

// NewUser is the input for creating a user.
type NewUser struct {
	Email        string
	Name         string
	PasswordHash string // of package password; "": the user cannot sign in with a password
}

// Change changes the user, whose name it normalizes. The error is a *ValidationError with every invalid field.
func (u *User) Change(change func(*User) error) error {
	err := change(u)
	var bad kernel.ValidationError
	u.Name = strings.TrimSpace(u.Name)
	kernel.CheckLine(&bad, "name", u.Name, kernel.MaxNameLength)
	return kernel.JoinUnread(err, bad.Err())
}

// Validate normalizes the email address and the name. It returns a *ValidationError with every invalid field.
func (n *NewUser) Validate() error {
	var bad kernel.ValidationError
	n.Name = strings.TrimSpace(n.Name)
	kernel.CheckLine(&bad, "name", n.Name, kernel.MaxNameLength)
	n.Email = kernel.CheckEmail(&bad, "email", n.Email)
	return bad.Err()
}

// The times that end a session of the dashboard.
const (
	SessionIdleLimit = 7 * 24 * time.Hour  // without a request
	SessionMaxAge    = 30 * 24 * time.Hour // since the sign-in
)

// Session is a sign-in of a user with one browser. Only the SHA-256 of its secret is stored.
type Session struct {
	ID          string
	UserID      string
	WorkspaceID string // the workspace that is shown
	CreatedAt   time.Time
	LastUsedAt  time.Time // precise to some minutes
	ConfirmedAt time.Time // when the user last proved who they are
	Address     string    // IP address at the sign-in
	Client      string    // User-Agent at the sign-in
	Method      SignInMethod
}

// AuditObject returns the form of s in the audit log. It is recorded when the session begins, and when somebody else
// ends it.
func (s Session) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{Kind: kernel.ObjectSession, ID: s.ID, Fields: map[string]any{"method": string(s.Method)}}
}

// SignInMethod is how a session began.
type SignInMethod string

// The methods of sign-in.
const (
	SignInPassword   SignInMethod = "password"
	SignInPasskey    SignInMethod = "passkey"
	SignInLink       SignInMethod = "link"       // a one-time link, such as the setup link
	SignInInvitation SignInMethod = "invitation" // a new member accepts it
	SignInOIDC       SignInMethod = "oidc"       // an OpenID Connect provider
	SignInProxy      SignInMethod = "proxy"      // a reverse proxy names the user with each request
)

// ConfirmationAge is how long a proof of identity is valid for sensitive changes.
const ConfirmationAge = 10 * time.Minute

// NeedsConfirmation reports whether the user has to prove their identity again before a sensitive change at now. Where
// a proxy signs in, it decides how often users prove their identity.
func (s Session) NeedsConfirmation(now time.Time) bool {
	return s.Method != SignInProxy && now.Sub(s.ConfirmedAt) > ConfirmationAge
}

// EndsAt returns when the session ends if it is not used any more.
func (s Session) EndsAt() time.Time {
	idle, age := s.LastUsedAt.Add(SessionIdleLimit), s.CreatedAt.Add(SessionMaxAge)
	if idle.Before(age) {
		return idle
	}
	return age
}

// MemberSession is a session of a member of a workspace.
type MemberSession struct {
	Session
	User User
	Role kernel.Role // in the workspace
}

// AuditObject returns the form of m in the audit log, with the name of the member.
func (m MemberSession) AuditObject() kernel.AuditObject {
	o := m.Session.AuditObject()
	o.Name = m.User.Name
	return o
}

// SignedIn is a session with its user and the user's workspaces.
type SignedIn struct {
	Session
	User        User
	Role        kernel.Role // in the session's workspace
	PageLimited bool        // to some pages of the session's workspace
	LimitedIn   []string    // ids of the workspaces in which the user is limited to some pages
	Workspaces  []Workspace
}

// Actor returns the actor of requests of the session. address is the IP address of the client.
func (s SignedIn) Actor(address string) kernel.Actor {
	return kernel.Actor{
		Kind: kernel.ActorUser, ID: s.User.ID, Name: s.User.Name, WorkspaceID: s.WorkspaceID, SessionID: s.ID,
		Role: s.Role, PageLimited: s.PageLimited, Address: address,
	}
}

// ActorIn returns the actor of reads in another of the user's workspaces. It has no role.
func (s SignedIn) ActorIn(workspaceID string) kernel.Actor {
	return kernel.Actor{
		Kind: kernel.ActorUser, ID: s.User.ID, Name: s.User.Name, WorkspaceID: workspaceID,
		PageLimited: slices.Contains(s.LimitedIn, workspaceID),
	}
}

// CodePurpose is the purpose of a one-time code.
type CodePurpose string

// The purposes of one-time codes.
const (
	CodeSetup CodePurpose = "setup" // creates the first owner
	CodeReset CodePurpose = "reset" // sets a user's password
	CodeEnter CodePurpose = "enter" // signs a user in

	CodeSecondFactor CodePurpose = "second_factor" // continues a sign-in whose password was right
	CodePasskey      CodePurpose = "passkey"       // the challenge of a passkey
	CodeState        CodePurpose = "state"         // returns from an identity provider
)

// URL returns the address that takes a code. base is the URL of the service.
func (p CodePurpose) URL(base, code string) string {
	return base + "/admin/" + string(p) + "?code=" + code
}

// Lifetimes of one-time codes.
const (
	SetupCodeAge = 24 * time.Hour
	ResetCodeAge = time.Hour
	EnterCodeAge = 24 * time.Hour

	SecondFactorCodeAge = 10 * time.Minute
	PasskeyChallengeAge = 10 * time.Minute
	StateCodeAge        = 10 * time.Minute
)

// Age returns the lifetime of a code.
func (p CodePurpose) Age() time.Duration {
	switch p {
	case CodeSetup:
		return SetupCodeAge
	case CodeReset:
		return ResetCodeAge
	case CodeSecondFactor:
		return SecondFactorCodeAge
	case CodePasskey:
		return PasskeyChallengeAge
	case CodeState:
		return StateCodeAge
	default:
		return EnterCodeAge
	}
}
