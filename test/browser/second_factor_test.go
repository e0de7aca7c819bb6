package browser

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	bigendian "encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// newAuthenticator gives a tab an authenticator that verifies its user without being asked.
func (p *tab) newAuthenticator() {
	p.t.Helper()
	p.do("WebAuthn.enable", nil, nil)
	p.do("WebAuthn.addVirtualAuthenticator", params{"options": params{
		"protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
		"isUserVerified": true, "automaticPresenceSimulation": true,
	}}, nil)
}

// TestPasskeyInABrowser adds a passkey, signs out, and signs in with it.
func TestPasskeyInABrowser(t *testing.T) {
	t.Parallel()
	server := binary.NewServer(t, program(t), "ALLSWELL_DATABASE="+storetest.SQLite(t))
	base := strings.Replace(server.URL, "127.0.0.1", "localhost", 1) // browsers make passkeys for no IP address
	server.Setenv("ALLSWELL_BASE_URL", base)
	server.Start()
	out, err := server.Command("setup-link", "--base-url", base)
	_, code, found := strings.Cut(out, base+"/admin/setup?code=")
	if err != nil || !found {
		t.Fatalf("setup-link: %v: %s", err, out)
	}
	v := view{name: "390", width: 390, height: 844}
	p := newBrowser(t).open(t, v, base+"/admin/setup?code="+strings.Fields(code)[0])
	p.newAuthenticator()
	p.fillIn("Your first page", "name", "Ada Lovelace", "email", "ada@example.com", "password", goodPassword)

	p.load(t, base+"/admin/account")
	p.press("form[data-passkey] button", "Your account")
	p.is(`document.querySelector("#passkeys").parentElement.innerText.includes("never used")`)
	look(p, v, "account-passkey")
	for _, small := range eval[[]string](p, smallTargets) {
		t.Errorf("a target below 44 pixels: %s", small)
	}
	eval[any](p, `document.querySelector("form[data-passkey] button").click()`) // the authenticator has one already
	p.eventually(`document.querySelector("form[data-passkey] [data-wrong]").innerText.includes("has a passkey of ` +
		`your account already")`)

	p.press("form[action='/admin/sign-out'] button", "Sign in")
	look(p, v, "sign-in-passkey")
	p.press("form[data-passkey] button", "Overview")
	p.load(t, base+"/admin/account")
	p.is(`document.querySelector("main").innerText.includes("passkey, signed in")`)

	// Without the authenticator, the screen says so.
	p.press("form[action='/admin/sign-out'] button", "Sign in")
	p.do("WebAuthn.disable", nil, nil)
	p.do("WebAuthn.enable", nil, nil)
	eval[any](p,
		`navigator.credentials.get = () => Promise.reject(new DOMException("", "NotAllowedError")), `+
			`document.querySelector("form[data-passkey] button").click()`)
	p.eventually(`document.querySelector("form[data-passkey] [data-wrong]").innerText.includes("No passkey was used")`)
}

// totp returns the code that an authenticator app shows now for a key in base 32.
func totp(t *testing.T, key string) string {
	t.Helper()
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).
		DecodeString(strings.Join(strings.Fields(strings.ToUpper(key)), ""))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, secret)
	_ = bigendian.Write(mac, bigendian.BigEndian, time.Now().Unix()/30)
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", bigendian.BigEndian.Uint32(sum[at:])&0x7fffffff%1000000)
}
