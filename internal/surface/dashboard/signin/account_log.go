package signin

import (
	"encoding/json"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// maxAccountLines is the number of changes that the screen of an account shows.
const maxAccountLines = 10

// accountLog returns the last changes of the visitor's account, so that changes by somebody else are noticed.
func (r *request) accountLog() (log frame.ObjectLog, err error) {
	entries, more, err := r.Store.ObjectLog(r.Context(), r.Actor(), []string{r.SignedIn.User.ID}, maxAccountLines)
	log.More = more
	for _, e := range entries {
		who := e.Actor.Name
		if e.Actor.ID == r.SignedIn.User.ID {
			who = "You"
		}
		if e.Actor.Address != "" {
			who += " (" + e.Actor.Address + ")"
		}
		log.Lines = append(log.Lines, frame.LogLine{Who: who, What: describeAccountChange(e), At: e.At})
	}
	return log, err
}

// describeAccountChange describes an audit entry of a user or of a membership.
func describeAccountChange(e kernel.AuditEntry) string {
	if e.Object.Kind == kernel.ObjectMember {
		switch e.Action {
		case kernel.AuditCreate:
			return "joined the workspace"
		case kernel.AuditDelete:
			return "ended the membership"
		}
		return "changed the role"
	}
	var before, after struct {
		Authenticator *bool
		Since         *string `json:"recovery_codes_since"`
		RecoveryCodes *int    `json:"recovery_codes"`
		Passkeys      *int
	}
	if e.Action == kernel.AuditRotate || json.Unmarshal(e.Before, &before) != nil ||
		json.Unmarshal(e.After, &after) != nil {
		return "set a new password"
	}
	switch {
	case after.Authenticator != nil && *after.Authenticator:
		return "set up an authenticator app"
	case after.Authenticator != nil && after.Passkeys != nil:
		return "removed the authenticator app and all passkeys"
	case after.Authenticator != nil:
		return "removed the authenticator app"
	case after.Passkeys != nil && before.Passkeys != nil && *after.Passkeys > *before.Passkeys:
		return "added a passkey"
	case after.Passkeys != nil:
		return "removed a passkey"
	case after.Since != nil:
		return "made new recovery codes"
	case after.RecoveryCodes != nil:
		return "used a recovery code"
	}
	return "changed the name"
}
