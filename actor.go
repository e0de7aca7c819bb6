package allswell

// ActorKind is the kind of an actor.
type ActorKind string

// The kinds of actors.
const (
	ActorToken      ActorKind = "token"      // somebody with an API token
	ActorSubscriber ActorKind = "subscriber" // a subscriber, by the link to the subscription
	ActorSystem     ActorKind = "system"     // the service itself, or a command on its database
)

// ActorKinds lists all kinds of actors.
var ActorKinds = []ActorKind{ActorToken, ActorSubscriber, ActorSystem}

// Actor is who makes a change. Every verb of the store takes one: it reaches the
// objects of the actor's workspace only, and the audit log names the actor.
type Actor struct {
	Kind        ActorKind
	ID          string // of the token or the subscriber; "" for the system
	Name        string // of the token, or the command; "" for a subscriber
	WorkspaceID string // "": no workspace, and so no objects
	Scope       Scope  // "" unless Kind is ActorToken
	Address     string // IP address of the client; "" for subscribers and the system
}

// Actor returns the actor that requests with the token t act as. address is the
// IP address of the client.
func (t Token) Actor(address string) Actor {
	return Actor{Kind: ActorToken, ID: t.ID, Name: t.Name, WorkspaceID: t.WorkspaceID, Scope: t.Scope, Address: address}
}

// SystemActor returns the actor of changes that the service, or a command on its
// database, makes in a workspace. name says which.
func SystemActor(name, workspaceID string) Actor {
	return Actor{Kind: ActorSystem, Name: name, WorkspaceID: workspaceID}
}
