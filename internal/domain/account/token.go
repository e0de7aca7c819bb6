package account

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Workspace owns pages, monitors and tokens. A token of one workspace gives no access to another.
type Workspace struct {
	ID        string
	Name      string
	CreatedAt time.Time
}

// DefaultWorkspace is the name of the workspace that the first start creates.
const DefaultWorkspace = "default"

// Token is an API token of a workspace, without its secret. Only the SHA-256 of the secret is stored.
type Token struct {
	ID          string
	WorkspaceID string
	Name        string
	Scope       kernel.Scope
	Limit       PageLimit
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero: never
	LastUsedAt  time.Time // zero: never used; precise to the minute
	RevokedAt   time.Time // zero: not revoked
}

// NewToken is the input for issuing a token.
type NewToken struct {
	Name      string
	Scope     kernel.Scope
	ExpiresAt time.Time // zero: never; must be in the future
	Limit     PageLimit // not with ScopeAdmin
}

// Validate returns a *ValidationError with every invalid field.
func (n NewToken) Validate() error {
	var bad kernel.ValidationError
	kernel.CheckLine(&bad, "name", n.Name, kernel.MaxNameLength)
	if !n.Scope.Valid() {
		bad.Add("scope", "must be one of: read, write, admin")
	}
	n.Limit.check(&bad, n.Scope != kernel.ScopeAdmin, "A token with the scope admin")
	return bad.Err()
}

// CheckExpiry returns a *ValidationError if the token would have expired at now.
func (n NewToken) CheckExpiry(now time.Time) error {
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(now) {
		return kernel.Invalid("expires_at", "field must be a time in the future")
	}
	return nil
}

// Expired reports whether the token has expired at now.
func (t Token) Expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now) }

// NewTokenSecret returns the secret of a new API token: "aw_", 32 random bytes in base62 (43 characters) and six
// characters of checksum. The checksum lets secret scanners recognize a leaked token; it is never verified here.
func NewTokenSecret() string {
	var raw [32]byte
	rand.Read(raw[:])
	body := encode62(new(big.Int).SetBytes(raw[:]), 43)
	sum := crc32.ChecksumIEEE([]byte(body))
	return "aw_" + body + encode62(big.NewInt(int64(sum)), 6)
}

// encode62 encodes n in base62, padded on the left to width characters.
func encode62(n *big.Int, width int) string {
	out := make([]byte, width)
	base, digit := big.NewInt(int64(len(kernel.Base62))), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = kernel.Base62[digit.Int64()]
	}
	return string(out)
}

// HashTokenSecret returns the SHA-256 under which a token is stored and looked up.
func HashTokenSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// MinBootstrapTokenLength is the minimum length, in characters, of a token chosen by the operator
// (ALLSWELL_BOOTSTRAP_TOKEN).
const MinBootstrapTokenLength = 32

// CheckBootstrapToken returns a *ValidationError if the token is too short or cannot be sent in an HTTP header.
func CheckBootstrapToken(secret string) error {
	if utf8.RuneCountInString(secret) < MinBootstrapTokenLength {
		return kernel.Invalid("bootstrap_token", "The bootstrap token must have at least %d characters.",
			MinBootstrapTokenLength)
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return kernel.Invalid("bootstrap_token", "The bootstrap token must be printable ASCII without spaces.")
	}
	return nil
}

// IssuedToken is a new token with its secret, which is returned once and not stored.
type IssuedToken struct {
	Token
	Secret string
}

// AuditObject returns the form of a token in the audit log.
func (t Token) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{Kind: kernel.ObjectToken, ID: t.ID, Name: t.Name, Fields: map[string]any{
		"name": t.Name, "scope": t.Scope, "revoked": !t.RevokedAt.IsZero(), "pages": t.Limit.field(),
		"expires_at": timeField(t.ExpiresAt),
	}}
}

// timeField returns a time as the audit log records it, or nil.
func timeField(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return kernel.FormatTime(at)
}

// Actor returns the actor of requests with the token t. address is the IP address of the client.
func (t Token) Actor(address string) kernel.Actor {
	return kernel.Actor{
		Kind: kernel.ActorToken, ID: t.ID, Name: t.Name, WorkspaceID: t.WorkspaceID, Scope: t.Scope,
		PageLimited: t.Limit.Limited, Address: address,
	}
}
