package audience

import (
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// PushTarget is where a browser is reached: the target of ChannelPush is its JSON.
type PushTarget struct {
	Endpoint string `json:"endpoint"` // URL of the browser's push service
	P256DH   string `json:"p256dh"`   // public key of the browser, in base64
	Auth     string `json:"auth"`     // secret of the browser, in base64
}

// pushHosts are the push services of browsers. Only these are called: the address comes from a visitor.
var pushHosts = []string{
	"fcm.googleapis.com", "jmt17.google.com", // Chrome, Edge, Opera and others
	".push.services.mozilla.com", // Firefox
	".push.apple.com",            // Safari
	".notify.windows.com",        // Edge
}

// ParsePushTarget returns the target that a valid text describes.
func ParsePushTarget(target string) (p PushTarget, ok bool) {
	return p, json.Unmarshal([]byte(target), &p) == nil && p.Endpoint != ""
}

// String returns the target as text.
func (p PushTarget) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // it has only strings
	}
	return string(text)
}

// pushEndpoint returns the URL in the target of ChannelPush, or the target itself if it is the shown part of one.
func pushEndpoint(target string) string {
	if p, ok := ParsePushTarget(target); ok {
		return p.Endpoint
	}
	return target
}

// Lengths of the keys of a browser (RFC 8291).
const (
	pushKeyLength  = 65
	pushAuthLength = 16
)

// checkPush returns the text of a target with a normalised endpoint, or adds an error to bad.
func checkPush(bad *kernel.ValidationError, field, target string) string {
	p, ok := ParsePushTarget(target)
	if !ok {
		bad.Add(field, "must be the subscription of a browser")
		return ""
	}
	problems := new(kernel.ValidationError)
	p.Endpoint = kernel.CheckURL(problems, field, p.Endpoint)
	key, keyErr := decodePushKey(p.P256DH)
	auth, authErr := decodePushKey(p.Auth)
	_, pointErr := ecdh.P256().NewPublicKey(key)
	if problems.Err() != nil || keyErr != nil || authErr != nil || pointErr != nil || len(key) != pushKeyLength ||
		len(auth) != pushAuthLength {
		bad.Add(field, "must be the subscription of a browser")
		return ""
	}
	return p.String()
}

// decodePushKey decodes base64 of either alphabet, with or without padding.
func decodePushKey(text string) ([]byte, error) {
	text = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
	return base64.RawURLEncoding.DecodeString(text)
}
