package configfield

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell"
)

// CheckKeptSecrets returns an *allswell.ValidationError on each secret that a change keeps but sends elsewhere.
// Otherwise anyone who can change the configuration could read its secrets on a server of their own. destination are
// the fields that say where secrets are sent, before and after are configurations, kept the fields that have a secret,
// and given the fields of the change.
func CheckKeptSecrets(
	destination []string, before, after json.RawMessage, kept []string, given map[string]json.RawMessage,
) error {
	if len(kept) == 0 || sameDestination(destination, before, after) {
		return nil
	}
	var bad allswell.ValidationError
	for _, name := range kept {
		if _, ok := given[name]; !ok {
			bad.Add(name, "The %s must be given again, or removed, because it would be sent elsewhere, or with less verification.", name)
		}
	}
	return bad.Err()
}

func sameDestination(destination []string, before, after json.RawMessage) bool {
	var old, changed map[string]json.RawMessage
	if json.Unmarshal(before, &old) != nil || json.Unmarshal(after, &changed) != nil {
		return false
	}
	return !slices.ContainsFunc(destination, func(name string) bool { return !sameServer(old[name], changed[name]) })
}

// sameServer compares values of a destination. Of URLs only the scheme, the host and the port matter.
func sameServer(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y string
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	u, err := url.Parse(x)
	if err != nil {
		return false
	}
	v, err := url.Parse(y)
	return err == nil && u.Host != "" && u.Scheme == v.Scheme && strings.EqualFold(u.Host, v.Host)
}
