package web

import (
	"net/http"
	"strings"
)

// maxSecret is the most characters that a token may have; longer ones are not
// looked up.
const maxSecret = 512

// Bearer returns the token of the request's Authorization header (RFC 6750).
// The scheme's name may be in any case. ok is false if there is no such header,
// more than one, another scheme, or what cannot be a token.
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
