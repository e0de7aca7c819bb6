package account

import (
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaxPasskeys is the maximum number of passkeys of a user.
const MaxPasskeys = 20

// Passkey is a key pair of a user, on an authenticator that verifies the user. Only its public key is stored.
type Passkey struct {
	ID             string
	UserID         string
	Name           string
	CredentialID   []byte // identifies it to authenticators
	PublicKey      []byte // COSE
	SignCount      uint32 // of the last use; 0 if the authenticator does not count
	BackupEligible bool   // the authenticator may copy it to other devices of the user
	CreatedAt      time.Time
	LastUsedAt     time.Time // zero: never
}

// AuditObject returns the form of p in the audit log.
func (p Passkey) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{
		Kind: kernel.ObjectPasskey, ID: p.ID, Name: p.Name, Fields: map[string]any{"name": p.Name},
	}
}

// ValidatePasskeyName returns the normalized name of a passkey, or a *ValidationError for the field "name".
func ValidatePasskeyName(name string) (string, error) {
	var bad kernel.ValidationError
	name = strings.TrimSpace(name)
	kernel.CheckLine(&bad, "name", name, kernel.MaxNameLength)
	return name, bad.Err()
}
