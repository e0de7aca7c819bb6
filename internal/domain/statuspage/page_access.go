package statuspage

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaxAccessNetworks is the maximum number of networks that may see a private page.
const MaxAccessNetworks = 50

// PageAccess is who can see a private page, besides clients with a token of its workspace. It has no effect while the
// page is not private. Each way is enough on its own.
type PageAccess struct {
	Members  bool           // members of the workspace who are signed in to the dashboard
	Networks []netip.Prefix // clients with an address in one of them

	PasswordHash  string    // of people who enter the password, in PHC format; "": none
	PasswordSetAt time.Time // zero: there is no password
	LinkHash      string    // of clients with the key of the secret link, see HashPageKey; "": none
	LinkCreatedAt time.Time // zero: there is no link

	LinkKey string // only after a change that made a new link; it is not stored
}

// AcceptsCredentials reports whether visitors can sign in or enter a password, so that the page asks for that.
// Otherwise it does not exist for them.
func (a PageAccess) AcceptsCredentials() bool { return a.Members || a.PasswordHash != "" }

// Contains reports whether an address is in one of the networks.
func (a PageAccess) Contains(address netip.Addr) bool {
	return slices.ContainsFunc(a.Networks, func(n netip.Prefix) bool { return n.Contains(address) })
}

// Equal reports whether a and b admit the same visitors.
func (a PageAccess) Equal(b PageAccess) bool {
	return a.Members == b.Members && a.PasswordHash == b.PasswordHash && a.LinkHash == b.LinkHash &&
		slices.Equal(a.Networks, b.Networks)
}

// PageAccessChange changes who can see a private page. The error is an *ValidationError on values that could not be
// read.
type PageAccessChange func(a *PageAccess, now time.Time) error

// Change changes a. The error is an *ValidationError with every invalid field; a must not be used then.
func (a *PageAccess) Change(change PageAccessChange, now time.Time) error {
	before := a.Networks
	err := change(a, now)
	var bad kernel.ValidationError
	if !slices.Equal(a.Networks, before) {
		a.Networks = slices.SortedFunc(slices.Values(a.Networks), netip.Prefix.Compare)
		a.Networks = slices.Compact(a.Networks)
		if len(a.Networks) > MaxAccessNetworks {
			bad.Add("networks", "There may be at most %d networks.", MaxAccessNetworks)
		}
		for _, n := range a.Networks {
			if n.Bits() == 0 {
				bad.Add("networks", "The network %s contains all addresses. Make the page public instead.", n)
			}
		}
	}
	return kernel.JoinInvalid(err, bad.Err())
}

// SetPassword sets the hash of a new password, which ends the visits of all who entered the old one; "" removes it.
func (a *PageAccess) SetPassword(hash string, now time.Time) {
	a.PasswordHash, a.PasswordSetAt = hash, now
	if hash == "" {
		a.PasswordSetAt = time.Time{}
	}
}

// MakeLink makes a new secret link in place of the present one.
func (a *PageAccess) MakeLink(now time.Time) {
	a.LinkKey = rand.Text() + rand.Text() // 260 bits
	a.LinkHash, a.LinkCreatedAt = HashPageKey(a.LinkKey), now
}

// RemoveLink removes the secret link.
func (a *PageAccess) RemoveLink() { a.LinkKey, a.LinkHash, a.LinkCreatedAt = "", "", time.Time{} }

// HashPageKey returns the hash of the key of a secret link.
func HashPageKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// PageKeyParam is the query parameter with the key of a secret link.
const PageKeyParam = "key"

// LinkURL returns the secret link of a page, or "" unless it has just been made.
func (p Page) LinkURL(base string) string {
	if p.Access.LinkKey == "" {
		return ""
	}
	return p.URL(base) + "?" + PageKeyParam + "=" + p.Access.LinkKey
}

// AuditMore adds what the audit log records of the access to a page: everything but secrets.
func (a PageAccess) AuditMore(fields map[string]any) {
	networks := []string{}
	for _, n := range a.Networks {
		networks = append(networks, n.String())
	}
	fields["access_members"], fields["access_networks"] = nil, networks
	if a.Members {
		fields["access_members"] = true
	}
	for name, t := range map[string]time.Time{
		"access_password_set_at": a.PasswordSetAt, "access_link_created_at": a.LinkCreatedAt,
	} {
		fields[name] = nil
		if !t.IsZero() {
			fields[name] = kernel.FormatTime(t)
		}
	}
}
