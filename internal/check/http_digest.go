package check

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/icholy/digest"

	"github.com/allswell/allswell/internal/shared/redact"
)

// maxChallenge is how much of the body of a challenge is read, so that its connection ends as the server expects.
const maxChallenge = 64 << 10

// digestTransport answers the challenges of Digest authentication (RFC 7616) of the configured origin.
type digestTransport struct {
	http.RoundTripper
	probe *httpProbe
}

// RoundTrip sends a request and, after a challenge, sends it once more with an answer.
func (t digestTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusUnauthorized || !t.isConfigured(request) {
		return response, err
	}
	challenge := strongest(response.Header)
	if challenge == nil {
		return response, nil
	}
	answer, err := digest.Digest(challenge, digest.Options{
		Method: request.Method, URI: request.URL.RequestURI(), GetBody: request.GetBody, Count: 1,
		Username: t.probe.Username, Password: t.probe.Password,
	})
	if err != nil {
		return response, nil
	}
	again := request.Clone(request.Context())
	if request.GetBody != nil {
		if again.Body, err = request.GetBody(); err != nil {
			return response, nil
		}
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxChallenge)
	response.Body.Close()
	again.Header.Set("Authorization", answer.String())
	return t.RoundTripper.RoundTrip(again)
}

// isConfigured reports whether neither a request nor a redirect before it left the configured origin.
func (t digestTransport) isConfigured(request *http.Request) bool {
	for r := request; ; r = r.Response.Request {
		if !isSameOrigin(r.URL, t.probe.url) {
			return false
		}
		if r.Response == nil {
			return true
		}
	}
}

// digestStrength orders the algorithms that can be answered, the strongest last.
var digestStrength = []string{"", "MD5", "SHA-256", "SHA-512", "SHA-512-256"}

// digestChallenges returns the challenges of Digest. A header may have several challenges, separated like their
// parameters (RFC 9110, section 11.6.1): one begins with its scheme, which no "=" follows.
func digestChallenges(headers http.Header) (all []string) {
	for _, value := range headers.Values("Www-Authenticate") {
		var one string
		for _, part := range splitUnquoted(value) {
			name, _, ok := strings.Cut(strings.TrimSpace(part), "=")
			if one != "" && ok && !strings.Contains(strings.TrimSpace(name), " ") {
				one += "," + part
				continue
			}
			all, one = append(all, one), strings.TrimSpace(part)
		}
		all = append(all, one)
	}
	return slices.DeleteFunc(all, func(text string) bool { return !digest.IsDigest(text) })
}

// splitUnquoted splits a list at its commas, except commas in quoted strings.
func splitUnquoted(list string) (parts []string) {
	quoted, from := false, 0
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			parts, from = append(parts, list[from:i]), i+1
		}
	}
	return append(parts, list[from:])
}

// strongest returns the challenge of Digest with the strongest algorithm that can be answered, or nil.
func strongest(headers http.Header) (best *digest.Challenge) {
	strength := -1
	for _, text := range digestChallenges(headers) {
		c, err := digest.ParseChallenge(text)
		if err != nil || !digest.CanDigest(c) {
			continue
		}
		if s := slices.Index(digestStrength, strings.ToUpper(c.Algorithm)); s > strength {
			best, strength = c, s
		}
	}
	return best
}

// authenticationHint says why Digest authentication failed, to follow the status 401, or "".
func (p *httpProbe) authenticationHint(response *http.Response) string {
	switch {
	case !p.Digest || response.StatusCode != http.StatusUnauthorized:
		return ""
	case strings.HasPrefix(response.Request.Header.Get("Authorization"), "Digest "):
		return ": the server does not accept the user name and the password"
	case len(digestChallenges(response.Header)) == 0:
		return ": the server does not offer Digest authentication"
	case strongest(response.Header) == nil:
		return ": the server requires an algorithm of Digest authentication other than MD5, SHA-256 and SHA-512"
	}
	return ""
}

// answerOf returns the secrets in the Authorization header of a request, which are known only from there.
func answerOf(request *http.Request) []string {
	scheme, value, ok := strings.Cut(request.Header.Get("Authorization"), " ")
	if !ok {
		return nil
	}
	secrets := []string{value}
	if c, err := digest.ParseCredentials(scheme + " " + value); scheme == "Digest" && err == nil {
		secrets = append(secrets, c.Response)
	}
	return secrets
}

// authenticating returns what sends the requests of a check.
func (p *httpProbe) authenticating(transport *http.Transport) http.RoundTripper {
	if p.Digest {
		return digestTransport{transport, p}
	}
	return transport
}

// hideToken hides the secrets in the Authorization header of a request, because an OAuth2 token is known only from
// there.
func hideToken(request *http.Request, o Outcome) Outcome {
	if secrets := answerOf(request); len(secrets) > 0 {
		return o.without(redact.New(secrets...))
	}
	return o
}
