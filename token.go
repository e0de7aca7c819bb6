package allswell

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"math/big"
	"strings"
	"time"
	"unicode/utf8"
)

// Workspace owns pages, monitors and tokens. Nothing of one workspace can be
// seen or changed with a token of another.
type Workspace struct {
	ID        string
	Name      string
	CreatedAt time.Time
}

// DefaultWorkspace is the name of the workspace that a first start makes.
const DefaultWorkspace = "default"

// Scope says what a token may do. Each scope includes the ones before it.
type Scope string

// The scopes.
const (
	ScopeRead  Scope = "read"  // see everything of the workspace
	ScopeWrite Scope = "write" // and change pages, components, incidents, monitors
	ScopeAdmin Scope = "admin" // and issue and revoke tokens
)

// Scopes lists the scopes, least first.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeAdmin}

// Valid reports whether s is one of the three scopes.
func (s Scope) Valid() bool { return s.rank() > 0 }

// Allows reports whether a token of scope s may do what needs scope need.
func (s Scope) Allows(need Scope) bool { return s.Valid() && s.rank() >= need.rank() }

func (s Scope) rank() int {
	for i, known := range Scopes {
		if s == known {
			return i + 1
		}
	}
	return 0
}

// Token is a workspace API token as it is kept: without its secret, of which
// only the SHA-256 is stored.
type Token struct {
	ID          string
	WorkspaceID string
	Name        string
	Scope       Scope
	CreatedAt   time.Time
	LastUsedAt  time.Time // zero: never used; kept to the minute
	RevokedAt   time.Time // zero: in force
}

// NewToken is what a caller gives to have a token issued.
type NewToken struct {
	Name  string
	Scope Scope
}

// Validate names every bad field of n.
func (n NewToken) Validate() error {
	var bad ValidationError
	CheckText(&bad, "name", n.Name, MaxNameLength)
	if !n.Scope.Valid() {
		bad.Add("scope", "The scope must be one of: read, write, admin.")
	}
	return bad.Err()
}

// base62 is the alphabet of all secrets; it survives URLs, shells and double
// clicks.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewTokenSecret returns the secret of a new API token: "aw_", 32 random bytes in
// base62 (43 characters) and six characters of checksum. The checksum only
// lets secret scanners recognise a leaked token; it is never checked here.
func NewTokenSecret() string {
	var raw [32]byte
	rand.Read(raw[:])
	body := encode62(new(big.Int).SetBytes(raw[:]), 43)
	sum := crc32.ChecksumIEEE([]byte(body))
	return "aw_" + body + encode62(big.NewInt(int64(sum)), 6)
}

// encode62 writes n in base62, padded on the left to width characters.
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

// MinBootstrapTokenLength is the least number of characters of a token that the
// operator chooses (ALLSWELL_BOOTSTRAP_TOKEN).
const MinBootstrapTokenLength = 32

// CheckBootstrapToken refuses a token that is too short or that could not be
// sent in a header.
func CheckBootstrapToken(secret string) error {
	if utf8.RuneCountInString(secret) < MinBootstrapTokenLength {
		return invalid("bootstrap_token", "The bootstrap token must have at least %d characters.", MinBootstrapTokenLength)
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return invalid("bootstrap_token", "The bootstrap token must be printable ASCII without spaces.")
	}
	return nil
}

// PingTokenLength is the number of characters of a ping token.
const PingTokenLength = 32

// NewPingToken returns the secret part of a ping URL: 32 random base62
// characters (190 bits).
func NewPingToken() string {
	out := make([]byte, 0, PingTokenLength)
	var raw [8]byte
	for len(out) < PingTokenLength {
		rand.Read(raw[:])
		// 62^10 values out of 2^64: the bias is below 1 in 20 million per
		// character, and rejection removes it.
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

// IsPingToken reports whether s has the form of a ping token: 32 ASCII letters
// and digits. Anything else is unknown without asking the database.
func IsPingToken(s string) bool {
	if len(s) != PingTokenLength {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// IssuedToken is a token with its secret, which is shown once and not kept.
type IssuedToken struct {
	Token
	Secret string
}
