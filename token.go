package allswell

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Workspace owns pages, monitors and tokens. A token of one workspace gives no access to another.
type Workspace struct {
	ID        string
	Name      string
	CreatedAt time.Time
}

// DefaultWorkspace is the name of the workspace that the first start creates.
const DefaultWorkspace = "default"

// Scope is the permission of a token. Each scope includes the ones before it.
type Scope string

// The scopes. docs/rights.md lists what needs which.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
	ScopeAdmin Scope = "admin"
)

// Scopes lists the scopes, lowest first.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeAdmin}

// Valid reports whether s is one of the three scopes.
func (s Scope) Valid() bool { return s.rank() > 0 }

// Allows reports whether a token with scope s may use an operation that requires need.
func (s Scope) Allows(need Scope) bool { return s.Valid() && s.rank() >= need.rank() }

// rank returns the place of s in Scopes, counted from 1, or 0.
func (s Scope) rank() int { return slices.Index(Scopes, s) + 1 }

// Token is an API token of a workspace, without its secret. Only the SHA-256 of the secret is
// stored.
type Token struct {
	ID          string
	WorkspaceID string
	Name        string
	Scope       Scope
	Limit       PageLimit
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero: never
	LastUsedAt  time.Time // zero: never used; precise to the minute
	RevokedAt   time.Time // zero: not revoked
}

// NewToken is the input for issuing a token.
type NewToken struct {
	Name      string
	Scope     Scope
	ExpiresAt time.Time // zero: never; must be in the future
	Limit     PageLimit // not with ScopeAdmin
}

// Validate returns a *ValidationError with every invalid field.
func (n NewToken) Validate() error {
	var bad ValidationError
	CheckLine(&bad, "name", n.Name, MaxNameLength)
	if !n.Scope.Valid() {
		bad.Add("scope", "must be one of: read, write, admin")
	}
	n.Limit.check(&bad, n.Scope != ScopeAdmin, "A token with the scope admin")
	return bad.Err()
}

// CheckExpiry returns a *ValidationError if the token would have expired at now.
func (n NewToken) CheckExpiry(now time.Time) error {
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(now) {
		return invalid("expires_at", "field must be a time in the future")
	}
	return nil
}

// Expired reports whether the token has expired at now.
func (t Token) Expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now) }

// base62 is the alphabet of all secrets. It needs no escaping in URLs and shells, and a double
// click selects all of it.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewTokenSecret returns the secret of a new API token: "aw_", 32 random bytes in base62 (43
// characters) and six characters of checksum. The checksum lets secret scanners recognize a leaked
// token; it is never verified here.
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
	base, digit := big.NewInt(int64(len(base62))), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = base62[digit.Int64()]
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

// CheckBootstrapToken returns a *ValidationError if the token is too short or cannot be sent in an
// HTTP header.
func CheckBootstrapToken(secret string) error {
	if utf8.RuneCountInString(secret) < MinBootstrapTokenLength {
		return invalid("bootstrap_token", "The bootstrap token must have at least %d characters.", MinBootstrapTokenLength)
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return invalid("bootstrap_token", "The bootstrap token must be printable ASCII without spaces.")
	}
	return nil
}

// Lengths of ping tokens, in characters. NewPingToken makes tokens of PingTokenLength; a monitor can also be created with
// a token of another service. No token has PingKeyLength.
const (
	PingTokenLength    = 32
	MinPingTokenLength = 16
	MaxPingTokenLength = 64
	PingKeyLength      = 22
)

// NewPingToken returns the secret part of a ping URL: 32 random base62 characters (190 bits).
func NewPingToken() string {
	out := make([]byte, 0, PingTokenLength)
	var raw [8]byte
	for len(out) < PingTokenLength {
		rand.Read(raw[:])
		// Rejecting values above the largest multiple of 62^10 keeps the characters uniform.
		const limit = 839299365868340224 // 62^10
		v := binary.BigEndian.Uint64(raw[:])
		if v >= (1<<64-1)/limit*limit {
			continue
		}
		for range 10 {
			if len(out) < PingTokenLength {
				out = append(out, base62[v%62])
			}
			v /= 62
		}
	}
	return string(out)
}

// IsPingToken reports whether s has the form of a ping token: 16 to 64 ASCII letters, digits and hyphens, but not
// PingKeyLength. Other strings need no database lookup.
func IsPingToken(s string) bool {
	if len(s) < MinPingTokenLength || len(s) > MaxPingTokenLength || len(s) == PingKeyLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isBase62(c) && c != '-' {
			return false
		}
	}
	return true
}

// isBase62 reports whether c is an ASCII letter or a digit.
func isBase62(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// checkPingToken accepts "", for which a token is made.
func checkPingToken(bad *ValidationError, token string) {
	if token != "" && !IsPingToken(token) {
		bad.Add("token", "must be a UUID or have %d to %d letters, digits and hyphens, but not %d", MinPingTokenLength, MaxPingTokenLength, PingKeyLength)
	}
}

// IssuedToken is a new token with its secret, which is returned once and not stored.
type IssuedToken struct {
	Token
	Secret string
}

// AuditObject returns the form of a token in the audit log.
func (t Token) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectToken, ID: t.ID, Name: t.Name, Fields: map[string]any{
		"name": t.Name, "scope": t.Scope, "revoked": !t.RevokedAt.IsZero(), "pages": t.Limit.field(), "expires_at": timeField(t.ExpiresAt),
	}}
}

// timeField returns a time as the audit log records it, or nil.
func timeField(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return FormatTime(at)
}
