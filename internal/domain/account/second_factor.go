package account

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Factors are the proofs of identity that a user has besides the password.
type Factors struct {
	AuthenticatorSince time.Time // when the user has set up an authenticator app; zero: none
	RecoveryCodes      int       // that have not been used
	RecoveryCodesSince time.Time // zero: there are none
	Passkeys           int
}

// HasAuthenticator reports whether a sign-in with the password needs a code, too.
func (f Factors) HasAuthenticator() bool { return !f.AuthenticatorSince.IsZero() }

// String names the factors in a list.
func (f Factors) String() string {
	var names []string
	if f.HasAuthenticator() {
		names = append(names, "authenticator")
	}
	switch {
	case f.Passkeys == 1:
		names = append(names, "passkey")
	case f.Passkeys > 1:
		names = append(names, fmt.Sprintf("%d passkeys", f.Passkeys))
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// RecoveryCodeCount is the number of recovery codes that a user gets.
const RecoveryCodeCount = 10

// UserFactors are the factors of a user, as the audit log records them.
type UserFactors struct {
	User User
	Factors
}

// AuditObject returns the form of f in the audit log.
func (f UserFactors) AuditObject() kernel.AuditObject {
	fields := map[string]any{
		"authenticator": f.HasAuthenticator(), "recovery_codes": f.RecoveryCodes, "recovery_codes_since": nil,
		"passkeys": f.Passkeys,
	}
	if !f.RecoveryCodesSince.IsZero() {
		fields["recovery_codes_since"] = kernel.FormatTime(f.RecoveryCodesSince)
	}
	return kernel.AuditObject{Kind: kernel.ObjectUser, ID: f.User.ID, Name: f.User.Name, Fields: fields}
}
