package openid

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
)

// claims are what a provider says about a person.
type claims map[string]json.RawMessage

// text returns a claim that is text, or "".
func (c claims) text(name string) (text string) {
	if json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

// isTrue reports whether a claim is true. Some providers write it as text or as a number.
func (c claims) isTrue(name string) bool {
	switch strings.Trim(string(c[name]), `"`) {
	case "true", "1":
		return true
	}
	return false
}

// list returns a claim that is a list of texts, or one text. known is false if there is none.
func (c claims) list(name string) (list []string, known bool) {
	if json.Unmarshal(c[name], &list) == nil {
		return list, list != nil
	}
	if one := c.text(name); one != "" {
		return []string{one}, true
	}
	return nil, false
}

func (c claims) identity(config Config, subject string) account.Identity {
	i := account.Identity{Issuer: config.Issuer, Subject: subject, Email: c.text("email"), Name: c.text("name")}
	i.EmailVerified = i.Email != "" && c.isVerified(config.Issuer, i.Email)
	if i.Name == "" {
		i.Name = c.text("preferred_username")
	}
	i.Groups, i.GroupsKnown = c.list(config.GroupsClaim)
	var seconds float64
	if json.Unmarshal(c["auth_time"], &seconds) == nil && seconds > 0 {
		i.ConfirmedAt = time.Unix(int64(seconds), 0)
	}
	return i
}

// isVerified reports whether the provider has verified that the e-mail address belongs to the person.
func (c claims) isVerified(issuer, email string) bool {
	u, err := url.Parse(issuer)
	if err != nil {
		return false
	}
	switch u.Host {
	case "accounts.google.com":
		// Google has once verified any address, but is authoritative only for its own addresses and its customers'.
		_, domain, _ := strings.Cut(strings.ToLower(email), "@")
		return c.isTrue("email_verified") &&
			(domain == "gmail.com" || domain != "" && strings.EqualFold(c.text("hd"), domain))
	case "login.microsoftonline.com":
		return c.isTrue("email_verified") || c.isTrue("xms_edov") // Entra says it with a claim of its own
	}
	return c.isTrue("email_verified")
}

// limitedTransport ends responses after maxResponse bytes.
type limitedTransport struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err == nil {
		response.Body = limitedBody{io.LimitReader(response.Body, maxResponse), response.Body}
	}
	return response, err
}

type limitedBody struct {
	io.Reader
	io.Closer
}
