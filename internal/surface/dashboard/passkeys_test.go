package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/signin/passkey"
	"github.com/descope/virtualwebauthn"
)

// device is an authenticator with one passkey.
type device struct {
	*site
	party virtualwebauthn.RelyingParty
	auth  virtualwebauthn.Authenticator
	key   virtualwebauthn.Credential
}

// usePasskeys gives the site an address for which browsers make passkeys.
func (s *site) usePasskeys() {
	s.dashboard.passkeys = passkey.New("https://status.example.com")
}

func (s *site) device(userID string) *device {
	d := &device{
		s,
		virtualwebauthn.RelyingParty{ID: "status.example.com", Name: "Allswell", Origin: "https://status.example.com"},
		virtualwebauthn.NewAuthenticator(), newKey(),
	}
	d.auth.Options.UserHandle = []byte(userID)
	return d
}

// newKey returns a new key. The library leaves out the zeros with which one of 128 keys begins, and no browser does.
func newKey() virtualwebauthn.Credential {
	const length = 77 // of two coordinates of 32 bytes each in COSE
	for {
		key := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		if len(key.Key.AttestationData()) == length {
			return key
		}
	}
}

// create answers the options of a registration.
func (d *device) create(v *visitor) string {
	d.Helper()
	a := v.wants(v.post("/admin/account/passkeys/options"), http.StatusOK, `"residentKey":"required"`,
		`"userVerification":"required"`)
	options, err := virtualwebauthn.ParseAttestationOptions(`{"publicKey":` + a.body + `}`)
	if err != nil {
		d.Fatal(err)
	}
	return virtualwebauthn.CreateAttestationResponse(d.party, d.auth, d.key, *options)
}

// sign answers the options at path.
func (d *device) sign(v *visitor, path string) string {
	d.Helper()
	a := v.wants(v.post(path), http.StatusOK, `"userVerification":"required"`)
	options, err := virtualwebauthn.ParseAssertionOptions(`{"publicKey":` + a.body + `}`)
	if err != nil {
		d.Fatal(err)
	}
	return virtualwebauthn.CreateAssertionResponse(d.party, d.auth, d.key, *options)
}

const (
	signInOptions  = "/admin/sign-in/passkey/options"
	confirmOptions = "/admin/account/passkeys/confirm-options"
)

// TestPasskeys adds a passkey, signs in and confirms a change with it, renames and removes it.
func TestPasskeys(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		owner.wants(owner.get("/admin/account"), http.StatusOK, "only for a domain with HTTPS")
		owner.wants(owner.post(signInOptions), http.StatusNotFound)
		s.usePasskeys()
		owner.wants(owner.get("/admin/account"), http.StatusOK, "Add a passkey")
		phone := s.device(owner.actor().ID)
		other := s.visitor()
		other.wants(other.post("/admin/sign-in", "email", "ada@example.com", "password", goodPassword),
			http.StatusSeeOther)

		made := phone.create(owner)
		owner.wants(owner.post("/admin/account/passkeys", "credential", made, "name", "Phone"), http.StatusSeeOther,
			"/admin/account")
		owner.wants(owner.get("/admin/account"), http.StatusOK, "Phone", "never used", "added a passkey",
			"joined the workspace")
		other.wants(other.get("/admin"), http.StatusSeeOther, "/admin/sign-in") // the change has ended other sessions
		owner.wants(owner.post("/admin/account/passkeys", "credential", made, "name", "Phone"),
			http.StatusUnprocessableEntity, "was not accepted")
		owner.wants(owner.post("/admin/account/passkeys", "credential", phone.create(owner), "name", "Phone"),
			http.StatusUnprocessableEntity, "exists already")
		owner.wants(owner.post("/admin/account/passkeys", "credential", "", "name", "Phone"),
			http.StatusUnprocessableEntity, "need JavaScript")
		for range signInsPerAddress {
			owner.post("/admin/account/passkeys/options")
		}
		owner.wants(owner.post("/admin/account/passkeys/options"), http.StatusTooManyRequests, "Too many attempts")
		s.dashboard.signIns = newSignInLimits()

		v := s.visitor()
		phone.key.Counter = 5
		v.wants(v.get("/admin/sign-in?next=/admin/monitors"), http.StatusOK, "Sign in with a passkey")
		signed := phone.sign(v, signInOptions)
		in := v.wants(v.post("/admin/sign-in/passkey", "credential", signed, "next", "/admin/monitors"),
			http.StatusSeeOther, "/admin/monitors")
		if len(in.Cookies()) != 1 {
			t.Error("the passkey starts no session")
		}
		v.wants(v.get("/admin/account"), http.StatusOK, "with a passkey", "last used")
		// a challenge works once
		v.wants(v.post("/admin/sign-in/passkey", "credential", signed), http.StatusUnprocessableEntity,
			"was not accepted")

		// Confirmation.
		s.dashboard.now = func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		v.wants(v.post("/admin/tokens", "name", "ci", "scope", "read"), http.StatusOK, "or a passkey", `value="ci"`)
		fields := []string{"name", "ci", "scope", "read", "confirm_passkey"}
		// the count has not increased
		v.wants(v.post("/admin/tokens", append(fields, phone.sign(v, confirmOptions))...),
			http.StatusUnprocessableEntity, "was not accepted")
		phone.key.Counter++
		// the challenge of a sign-in
		v.wants(v.post("/admin/tokens", append(fields, phone.sign(v, signInOptions))...),
			http.StatusUnprocessableEntity, "was not accepted")
		v.wants(v.post("/admin/tokens", append(fields, phone.sign(v, confirmOptions))...), http.StatusCreated,
			"has been created")
		s.dashboard.now = time.Now

		keys, err := s.store.Passkeys(t.Context(), v.actor())
		if err != nil || len(keys) != 1 || keys[0].SignCount != 6 {
			t.Fatalf("passkeys %+v, %v", keys, err)
		}
		path := "/admin/account/passkeys/" + keys[0].ID
		v.wants(v.post(path+"/name", "name", " "), http.StatusUnprocessableEntity, "required", " open>")
		v.wants(v.post(path+"/name", "name", "Old phone"), http.StatusSeeOther)
		v.wants(v.get("/admin/account"), http.StatusOK, "Old phone")
		stranger := s.member(v, kernel.RoleAdmin)
		stranger.wants(stranger.post(path+"/name", "name", "x"), http.StatusNotFound)
		stranger.wants(stranger.post(path+"/remove"), http.StatusSeeOther)
		phone.key.Counter++
		// not removed by a stranger
		stranger.wants(stranger.post("/admin/sign-in/passkey", "credential", phone.sign(stranger, signInOptions)),
			http.StatusSeeOther)
		v.wants(v.post(path+"/remove"), http.StatusSeeOther, "/admin/account")
		phone.key.Counter++
		v.wants(v.post("/admin/sign-in/passkey", "credential", phone.sign(v, signInOptions)),
			http.StatusUnprocessableEntity, "was not accepted")
		v.wants(v.get("/admin/audit?kind=passkey"), http.StatusOK, "Old phone", "deleted", "created")
	})
}

// TestForgedPasskeysAreRefused sends what an attacker could make.
func TestForgedPasskeysAreRefused(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.usePasskeys()
		owner := s.owner()
		editor := s.member(owner, kernel.RoleEditor)
		phone := s.device(owner.actor().ID)
		for what, forge := range map[string]func(d *device){
			"of another origin":     func(d *device) { d.party.Origin = "https://status.example.com.evil.example" },
			"of another subdomain":  func(d *device) { d.party.Origin = "https://www.status.example.com" },
			"of another port":       func(d *device) { d.party.Origin = "https://status.example.com:8443" },
			"over plain HTTP":       func(d *device) { d.party.Origin = "http://status.example.com" },
			"of another party":      func(d *device) { d.party.ID = "example.com" },
			"of an unverified user": func(d *device) { d.auth.Options.UserNotVerified = true },
			"of an absent user":     func(d *device) { d.auth.Options.UserNotPresent = true },
		} {
			forged := *phone
			forge(&forged)
			owner.wants(owner.post("/admin/account/passkeys", "credential", forged.create(owner), "name", what),
				http.StatusUnprocessableEntity, "was not accepted")
		}
		owner.wants(owner.post("/admin/account/passkeys", "credential", phone.create(editor), "name",
			"the challenge of another"), http.StatusUnprocessableEntity, "was not accepted")
		owner.wants(owner.post("/admin/account/passkeys", "credential", phone.create(owner), "name", "Phone"),
			http.StatusSeeOther)

		v, count := s.visitor(), uint32(0)
		for what, forge := range map[string]func(d *device){
			"of another origin":     func(d *device) { d.party.Origin = "https://evil.example" },
			"of another party":      func(d *device) { d.party.ID = "example.com" },
			"of an unverified user": func(d *device) { d.auth.Options.UserNotVerified = true },
			"of another user":       func(d *device) { d.auth.Options.UserHandle = []byte(editor.actor().ID) },
			"of no user":            func(d *device) { d.auth.Options.UserHandle = nil },
			"of another key": func(d *device) {
				id := d.key.ID
				d.key = newKey()
				d.key.ID = id
			},
			"of an unknown passkey":        func(d *device) { d.key = newKey() },
			"that is copied between users": func(d *device) { d.auth.Options.BackupEligible = true },
		} {
			s.dashboard.signIns = newSignInLimits()
			count++
			forged := *phone
			forged.key.Counter = count
			forge(&forged)
			a := v.post("/admin/sign-in/passkey", "credential", forged.sign(v, signInOptions))
			if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.body, "was not accepted") {
				t.Errorf("an assertion %s: status %d", what, a.StatusCode)
			}
		}
		for _, bad := range []string{
			"", "x", "{}", "null", `{"id":"x","type":"public-key","rawId":"eA","response":{}}`,
		} {
			if a := v.post(
				"/admin/sign-in/passkey", "credential", bad,
			); a.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("%q: status %d", bad, a.StatusCode)
			}
		}
		v.wants(v.get("/admin"), http.StatusSeeOther, "/admin/sign-in")

		// Somebody else's passkey confirms nothing.
		s.dashboard.now = func() time.Time { return time.Now().Add(account.ConfirmationAge + time.Minute) }
		phone.key.Counter = count + 1
		editor.wants(editor.post("/admin/account/passkeys", "confirm_passkey", phone.sign(editor, confirmOptions)),
			http.StatusUnprocessableEntity, "Confirm that it is you")
	})
}

// TestGroupsDecideBeforePasskeys: a passkey does not keep a role that groups give and take away.
func TestGroupsDecideBeforePasskeys(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.usePasskeys()
		fake := s.provider()
		fake.Claims["groups"] = []string{"boss"}
		fake.Claims["auth_time"] = time.Now().Unix()
		s.dashboard.sso.Rules = account.SignInRules{
			Groups: map[string]kernel.Role{"boss": kernel.RoleOwner}, CreateAccounts: true,
		}
		v, w := s.visitor(), s.visitor()
		v.wants(v.through("/admin/oidc/start"), http.StatusSeeOther, "/admin")
		phone := s.device(v.actor().ID)
		v.wants(v.post("/admin/account/passkeys", "credential", phone.create(v), "name", "Phone"), http.StatusSeeOther,
			"/admin/account")
		phone.key.Counter = 5
		w.wants(w.post("/admin/sign-in/passkey", "credential", phone.sign(w, signInOptions)), http.StatusForbidden,
			"please use single sign-on")
		s.dashboard.sso.Rules = account.SignInRules{}
		w.wants(w.post("/admin/sign-in/passkey", "credential", phone.sign(w, signInOptions)), http.StatusSeeOther,
			"/admin")
	})
}
