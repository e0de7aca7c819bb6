package monitor

import (
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// PingAccess is the permission of a page's ping key.
type PingAccess string

// The kinds of access, lowest first.
const (
	PingAccessOff       PingAccess = "off"        // there is no key
	PingAccessPingOnly  PingAccess = "ping_only"  // ping the monitors of the page
	PingAccessReadWrite PingAccess = "read_write" // also create monitors with their first pings
)

// PingAccesses lists all kinds of access.
var PingAccesses = []PingAccess{PingAccessOff, PingAccessPingOnly, PingAccessReadWrite}

// Limits of monitors that pings create.
const (
	MaxProvisionedPerMinute = 100    // on a page, including monitors that were created otherwise
	MaxProvisioned          = 10_000 // monitors of a page; with more, pings create none
	ProvisionedInterval     = 24 * time.Hour
	ProvisionedGrace        = time.Hour
)

// PingKey is the key of a page: with it and the slug of a monitor of the page, a job pings without the monitor's token.
type PingKey struct {
	Key           string // "": there is none
	Access        PingAccess
	CreatedAt     time.Time // zero: there is none
	PreviousUntil time.Time // until when the key before the last rotation is valid; zero: there is none
}

// PingKeyChange is the input for changing a page's ping key. Nil fields keep their values.
type PingKeyChange struct {
	Access *PingAccess // PingAccessOff: every key of the page becomes invalid
	Key    *string     // of another service, for a page without a key
}

// Validate returns a *ValidationError with every invalid field.
func (ch PingKeyChange) Validate() error {
	var bad kernel.ValidationError
	if ch.Key != nil && !IsPingKey(*ch.Key) {
		bad.Add("key", "must have %d letters, digits, hyphens and underscores", kernel.PingKeyLength)
	}
	if ch.Key != nil && ch.Access != nil && *ch.Access == PingAccessOff {
		bad.Add("key", "cannot be given with the access off")
	}
	return bad.Err()
}

// NewPingKey returns a key of 22 random base62 characters (130 bits).
func NewPingKey() string { return kernel.NewPingToken()[:kernel.PingKeyLength] }

// IsPingKey reports whether s has the form of a ping key: 22 ASCII letters, digits, hyphens and underscores. No ping
// token has this length.
func IsPingKey(s string) bool {
	if len(s) != kernel.PingKeyLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !kernel.IsBase62(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// SlugAddress returns the ping address of the monitor of a page, given the page's ping key and the monitor's slug.
func SlugAddress(key, slug string) string { return key + "/" + slug }

// CutSlugAddress returns the parts of a ping address made by SlugAddress. ok is false for other strings, such as a ping
// token, which is an address too.
func CutSlugAddress(address string) (key, slug string, ok bool) {
	key, slug, ok = strings.Cut(address, "/")
	return key, slug, ok && IsPingKey(key) && kernel.ValidSlug(slug)
}

// IsPingAddress reports whether s has the form of a ping address: a ping token, or a ping key and a slug.
func IsPingAddress(s string) bool {
	_, _, bySlug := CutSlugAddress(s)
	return bySlug || kernel.IsPingToken(s)
}

// PageWithPingKey is a page with its ping key. The audit log records the access of the key, but not the key.
type PageWithPingKey struct {
	statuspage.Page
	PingKey PingKey
}

// AuditObject returns the form of the key in the audit log.
func (p PageWithPingKey) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{
		Kind: kernel.ObjectPage, ID: p.ID, Name: p.Name, Fields: map[string]any{"ping_key": string(p.PingKey.Access)},
	}
}
