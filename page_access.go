package allswell

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"time"
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

// Equal reports whether both let in the same visitors.
func (a PageAccess) Equal(b PageAccess) bool {
	return a.Members == b.Members && a.PasswordHash == b.PasswordHash && a.LinkHash == b.LinkHash && slices.Equal(a.Networks, b.Networks)
}

// PageAccessChange is the input for changing who can see a private page. Nil fields keep their values.
type PageAccessChange struct {
	Members      *bool
	Networks     *[]netip.Prefix
	PasswordHash *string // "" removes the password; another hash ends the visits of all who entered the old password
	Link         *bool   // true: a new link in place of the present one; false: none
}

// Validate returns a *ValidationError with every invalid field.
func (ch PageAccessChange) Validate() error {
	var bad ValidationError
	if ch.Networks != nil {
		if len(*ch.Networks) > MaxAccessNetworks {
			bad.Add("networks", "There may be at most %d networks.", MaxAccessNetworks)
		}
		for _, n := range *ch.Networks {
			if n.Bits() == 0 {
				bad.Add("networks", "The network %s contains all addresses. Make the page public instead.", n)
			}
		}
	}
	return bad.Err()
}

// Apply changes a.
func (a *PageAccess) Apply(ch PageAccessChange, now time.Time) {
	if ch.Members != nil {
		a.Members = *ch.Members
	}
	if ch.Networks != nil {
		a.Networks = slices.Clone(*ch.Networks)
		slices.SortFunc(a.Networks, netip.Prefix.Compare)
		a.Networks = slices.Compact(a.Networks)
	}
	if ch.PasswordHash != nil {
		a.PasswordHash, a.PasswordSetAt = *ch.PasswordHash, now
		if a.PasswordHash == "" {
			a.PasswordSetAt = time.Time{}
		}
	}
	if ch.Link != nil {
		a.LinkKey, a.LinkHash, a.LinkCreatedAt = "", "", time.Time{}
		if *ch.Link {
			a.LinkKey = rand.Text() + rand.Text() // 260 bits
			a.LinkHash, a.LinkCreatedAt = HashPageKey(a.LinkKey), now
		}
	}
}

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

// addAuditFields adds what the audit log records of the access to a page: everything but secrets.
func (a PageAccess) addAuditFields(fields map[string]any) {
	networks := []string{}
	for _, n := range a.Networks {
		networks = append(networks, n.String())
	}
	fields["access_members"], fields["access_networks"] = nil, networks
	if a.Members {
		fields["access_members"] = true
	}
	for name, t := range map[string]time.Time{"access_password_set_at": a.PasswordSetAt, "access_link_created_at": a.LinkCreatedAt} {
		fields[name] = nil
		if !t.IsZero() {
			fields[name] = FormatTime(t)
		}
	}
}
