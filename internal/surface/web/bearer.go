package web

import (
	"net/http"
	"strings"
)

// maxSecret is the maximum length of a token. Longer ones are invalid without a look-up.
const maxSecret = 512

// Bearer returns the token of the request's Authorization header (RFC 6750).
// The scheme's name is case-insensitive. ok is false if there is no such header or more than one, if the scheme is
// another one, or if the token contains invalid characters.
func Bearer(r *http.Request) (secret string, ok bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false
	}
	scheme, secret, ok := strings.Cut(headers[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	secret = strings.Trim(secret, " ")
	if secret == "" || len(secret) > maxSecret {
		return "", false
	}
	return secret, !strings.ContainsFunc(secret, func(c rune) bool { return c <= ' ' || c > '~' })
}
