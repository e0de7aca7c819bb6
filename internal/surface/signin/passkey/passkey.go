// Package passkey creates the options and verifies the responses of WebAuthn ceremonies. A passkey is always
// discoverable, and its authenticator always verifies the user, so a passkey alone is enough to sign in.
package passkey

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// RelyingParty is the service for which passkeys are created.
type RelyingParty struct{ w *webauthn.WebAuthn }

// New returns the relying party with a base URL. It returns nil if browsers create no passkeys for the base URL: its
// host is an IP address, or it is reached over plain HTTP.
func New(base string) *RelyingParty {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Hostname() != "localhost" {
		return nil
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return nil
	}
	w, err := webauthn.New(&webauthn.Config{
		RPID: u.Hostname(), RPDisplayName: "Allswell", RPOrigins: []string{u.Scheme + "://" + u.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		},
		// Password managers send outputs of extensions that were not requested. None is used.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil // the host is not a domain
	}
	return &RelyingParty{w}
}

// ErrRefused means that the response of an authenticator is not valid.
var ErrRefused = errors.New("the passkey was refused")

// owner is a user as the library sees it.
type owner struct {
	user     account.User
	passkeys []account.Passkey
}

func (o owner) WebAuthnID() []byte          { return []byte(o.user.ID) }
func (o owner) WebAuthnName() string        { return o.user.Email }
func (o owner) WebAuthnDisplayName() string { return o.user.Name }

func (o owner) WebAuthnCredentials() (credentials []webauthn.Credential) {
	for _, p := range o.passkeys {
		credentials = append(credentials, webauthn.Credential{
			ID: p.CredentialID, PublicKey: p.PublicKey,
			Flags: webauthn.CredentialFlags{
				UserPresent: true, UserVerified: true, BackupEligible: p.BackupEligible,
			},
			Authenticator: webauthn.Authenticator{SignCount: p.SignCount},
		})
	}
	return credentials
}

func (o owner) descriptors() (all []protocol.CredentialDescriptor) {
	for _, c := range o.WebAuthnCredentials() {
		all = append(all, c.Descriptor())
	}
	return all
}

// begin returns the options and the state of a registration. Both follow from the arguments.
func (p *RelyingParty) begin(o owner, challenge string) (*protocol.CredentialCreation, *webauthn.SessionData, error) {
	return p.w.BeginRegistration(o, webauthn.WithExclusions(o.descriptors()),
		func(c *protocol.PublicKeyCredentialCreationOptions) error {
			c.Challenge = protocol.URLEncodedBase64(challenge)
			return nil
		})
}

// CreationOptions returns the options of navigator.credentials.create, as JSON marshals them, to create a passkey for a
// user on an authenticator that has none of the others.
func (p *RelyingParty) CreationOptions(user account.User, others []account.Passkey, challenge string) (any, error) {
	options, _, err := p.begin(owner{user, others}, challenge)
	if err != nil {
		return nil, err
	}
	return options.Response, nil
}

// Create returns the passkey that navigator.credentials.create has created, without id, name and times. The error is
// ErrRefused if the response is not valid.
func (p *RelyingParty) Create(user account.User, challenge string, response []byte) (made account.Passkey, err error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return made, refused(err)
	}
	_, state, err := p.begin(owner{user: user}, challenge)
	if err != nil {
		return made, err
	}
	c, err := p.w.CreateCredential(owner{user: user}, *state, parsed)
	if err != nil {
		return made, refused(err)
	}
	return account.Passkey{
		UserID: user.ID, CredentialID: c.ID, PublicKey: c.PublicKey, SignCount: c.Authenticator.SignCount,
		BackupEligible: c.Flags.BackupEligible,
	}, nil
}

// RequestOptions returns the options of navigator.credentials.get, as JSON marshals them, to use any passkey of the
// service.
func (p *RelyingParty) RequestOptions(challenge string) (any, error) {
	options, _, err := p.w.BeginDiscoverableLogin(webauthn.WithChallenge([]byte(challenge)))
	if err != nil {
		return nil, err
	}
	return options.Response, nil
}

// Assertion is what navigator.credentials.get returned.
type Assertion struct {
	parsed *protocol.ParsedCredentialAssertionData
}

// ParseAssertion parses what navigator.credentials.get returned. The error is ErrRefused if it is malformed.
func ParseAssertion(response []byte) (Assertion, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return Assertion{}, refused(err)
	}
	return Assertion{parsed}, nil
}

// CredentialID returns the id of the passkey that was used.
func (a Assertion) CredentialID() []byte { return a.parsed.RawID }

// Challenge returns the challenge that was signed.
func (a Assertion) Challenge() string { return challenge(a.parsed.Response.CollectedClientData) }

// CreationChallenge returns the challenge in what navigator.credentials.create returned. The error is ErrRefused if it
// is malformed.
func CreationChallenge(response []byte) (string, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return "", refused(err)
	}
	return challenge(parsed.Response.CollectedClientData), nil
}

func challenge(c protocol.CollectedClientData) string {
	text, err := base64.RawURLEncoding.DecodeString(c.Challenge)
	if err != nil {
		return "" // belongs to nobody
	}
	return string(text)
}

// Verify verifies an assertion with the passkey of its credential id, and returns the new sign count. The error is
// ErrRefused if the assertion is not valid.
func (p *RelyingParty) Verify(a Assertion, user account.User, key account.Passkey) (signCount uint32, err error) {
	_, state, err := p.w.BeginDiscoverableLogin(webauthn.WithChallenge([]byte(a.Challenge())))
	if err != nil {
		return 0, refused(err) // the challenge is too short
	}
	used, err := p.w.ValidateDiscoverableLogin(func(id, handle []byte) (webauthn.User, error) {
		if !bytes.Equal(id, key.CredentialID) || string(handle) != user.ID {
			return nil, errors.New("another user's")
		}
		return owner{user, []account.Passkey{key}}, nil
	}, *state, a.parsed)
	if err != nil {
		return 0, refused(err)
	}
	if used.Authenticator.CloneWarning {
		return 0, fmt.Errorf("%w: its sign count has not increased, so it may have been copied", ErrRefused)
	}
	return used.Authenticator.SignCount, nil
}

func refused(err error) error {
	var detailed *protocol.Error
	if errors.As(err, &detailed) {
		return fmt.Errorf("%w: %s: %s", ErrRefused, detailed.Details, detailed.DevInfo)
	}
	return fmt.Errorf("%w: %v", ErrRefused, err)
}
