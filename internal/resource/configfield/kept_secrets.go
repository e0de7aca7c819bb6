package configfield

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Destination identifies where a configuration sends its secrets, and how well the receiver is verified: it has parts
// such as the server, the Host header and the proxy. If one of them changes, secrets are sent elsewhere.
type Destination []string

// Destined is a configuration that sends secrets.
type Destined interface {
	Configured

	// Destination returns where secrets are sent. It may be called after Validate has found problems.
	Destination() Destination
}

// Server returns a URL as a part of a destination: its scheme, host and port.
func Server(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{
			"http": "80", "ws": "80", "https": "443", "wss": "443", "socks5": "1080",
		}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + " " + strings.ToLower(u.Hostname()) + " " + port
}

// Change is a change of a configuration that has secrets.
type Change struct {
	Before, After json.RawMessage            // without secrets
	Secrets       map[string]json.RawMessage // before
	Kept          []string                   // the fields that had a secret before
	Given         map[string]json.RawMessage // the fields that the change sets; the others do not change
}

// CheckKeptSecrets returns a *kernel.ValidationError that names each secret that a change keeps but sends elsewhere.
// Otherwise anyone who can change the configuration could read its secrets on a server of their own. blank returns a
// configuration with defaults. A secret can be a part of the destination, such as a secret Host header.
func CheckKeptSecrets(blank func() Destined, c Change) error {
	if len(c.Kept) == 0 {
		return nil
	}
	before, err1 := destination(blank(), c.Before, c.Secrets, nil)
	after, err2 := destination(blank(), c.After, c.Secrets, c.Given)
	if err1 == nil && err2 == nil && slices.Equal(before, after) {
		return nil
	}
	var bad kernel.ValidationError
	for _, name := range c.Kept {
		if _, ok := c.Given[name]; !ok {
			bad.Add(name,
				"must be given again, or removed, because it would be sent elsewhere, or with less verification")
		}
	}
	return bad.Err()
}

// destination returns the destination of a configuration with the secrets that a change leaves.
func destination(
	blank Destined, config json.RawMessage, secrets, given map[string]json.RawMessage,
) (Destination, error) {
	fields, err := Merge(config, secrets, given)
	if err != nil {
		return nil, err
	}
	if err := decode(blank, fields); err != nil {
		return nil, err
	}
	var ignored kernel.ValidationError // such as missing secrets
	blank.Validate(&ignored)
	return blank.Destination(), nil
}
