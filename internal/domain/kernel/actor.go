package kernel

// ActorKind is the kind of an actor.
type ActorKind string

// The kinds of actors.
const (
	ActorToken      ActorKind = "token"      // a client with an API token
	ActorUser       ActorKind = "user"       // a person who has signed in to the dashboard
	ActorSubscriber ActorKind = "subscriber" // a subscriber, through the link to the subscription
	ActorSystem     ActorKind = "system"     // the service itself, or a command on its database
	ActorLink       ActorKind = "link"       // a person with the link of a message, who is not a member
	ActorSlack      ActorKind = "slack"      // a person who presses a button in Slack
)

// ActorKinds lists all kinds of actors.
var ActorKinds = []ActorKind{ActorToken, ActorUser, ActorSubscriber, ActorSystem, ActorLink, ActorSlack}

// Actor is the originator of a change by a client of the API, a command or a subscriber. It can change only objects of
// its workspace, and the audit log names it. Pings, periodic work and deliveries are not audited.
type Actor struct {
	Kind ActorKind
	ID   string // of the token, the user or the subscriber; "" for the others
	// of the token, the user, the command or the part of the service. For ActorLink, the name that the person typed,
	// the name of their account, their e-mail address, or "". For ActorSlack, the name in Slack. For a subscriber, "".
	Name        string
	WorkspaceID string // "": no workspace, so the actor cannot change any object
	Scope       Scope  // "" unless Kind is ActorToken
	SessionID   string // "" unless Kind is ActorUser
	Role        Role   // "" unless Kind is ActorUser
	PageLimited bool   // the actor can see and change only some pages of the workspace
	Address     string // IP address of the client, which may be a server of Slack; "" for subscribers and the system
}

// Suffixes of the names of people who are known only by a link or by Slack, so that nobody can impersonate an account.
const (
	byLink  = " (by link)"
	inSlack = " in Slack"
)

// DisplayName returns the name of the actor with a note if it is not the name of an account or a token: "Ann (by
// link)".
func (a Actor) DisplayName() string {
	name := a.Name
	if name == "" && (a.Kind == ActorLink || a.Kind == ActorSlack) {
		name = "Someone"
	}
	return name + map[ActorKind]string{ActorLink: byLink, ActorSlack: inSlack}[a.Kind]
}

// SystemActor returns the actor of changes that the service, or a command on its database, makes in a workspace. name
// is the name of the command or of the part of the service.
func SystemActor(name, workspaceID string) Actor {
	return Actor{Kind: ActorSystem, Name: name, WorkspaceID: workspaceID}
}
