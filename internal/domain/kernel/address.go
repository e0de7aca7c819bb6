package kernel

import (
	"net"
	"net/mail"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/shared/hostname"
)

// Limits of addresses, in characters.
const (
	MaxEmailLength = 254 // RFC 5321
	MaxURLLength   = 2_000
)

// CheckEmail returns an e-mail address in lower case and without surrounding space, or adds an error to bad. It accepts
// only a bare address of printable ASCII at a domain name, so that an address cannot contain a header field or a second
// recipient, or name a host by its IP address. A domain name in another script is converted to ASCII.
func CheckEmail(bad *ValidationError, field, address string) string {
	// an address without an ASCII form is refused below
	address, _ = hostname.InAddress(strings.ToLower(strings.TrimSpace(address)))
	if address == "" {
		bad.Add(field, Required)
		return ""
	}
	parsed, err := mail.ParseAddress(address)
	local, domain, _ := strings.Cut(address, "@")
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),:;<>[\]`, r) }
	if err != nil || parsed.Address != address || len(address) > MaxEmailLength || len(local) > 64 ||
		strings.ContainsFunc(address, odd) || !isHostname(domain) ||
		!strings.Contains(domain, ".") || endsInNumber(domain) {
		bad.Add(field, "must be an email address")
		return ""
	}
	return address
}

// CheckURL returns an http or https URL with scheme and host in lower case and ASCII, and without the default port and
// the fragment, or adds an error to bad.
func CheckURL(bad *ValidationError, field, address string) string {
	address = strings.TrimSpace(address)
	if address == "" {
		bad.Add(field, Required)
		return ""
	}
	if !strings.Contains(address, "://") {
		bad.Add(field, "must begin with https:// or http://, such as https://www.example.com")
		return ""
	}
	address, _ = hostname.InURL(address) // a URL without an ASCII form is refused below
	u, err := url.Parse(address)
	if err != nil || len(address) > MaxURLLength || u.Opaque != "" || u.Host == "" ||
		strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		bad.Add(field, "must be an http(s) URL without spaces")
		return ""
	}
	u.Scheme, u.Host, u.Fragment, u.RawFragment = strings.ToLower(u.Scheme), strings.ToLower(u.Host), "", ""
	host, port := u.Hostname(), u.Port()
	if u.Scheme != "http" && u.Scheme != "https" || u.User != nil ||
		net.ParseIP(host) == nil && !isHostname(host) || strings.HasSuffix(u.Host, ":") {
		bad.Add(field, "must be an http(s) URL without user name")
		return ""
	}
	if !CheckPort(bad, field, u) {
		return ""
	}
	if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}

// isHostname reports whether name is a valid host name in lower case.
func isHostname(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(r rune) bool {
				return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
			}) {
			return false
		}
	}
	return true
}

// endsInNumber reports whether the last label of a host name is a decimal or hexadecimal number. Resolvers parse such a
// name as an IPv4 address ("127.1", "127.0.0.0x1"), and no top-level domain is a number.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// NormalizeEmail returns an email address in the form in which it is stored and looked up.
func NormalizeEmail(address string) string { return strings.ToLower(strings.TrimSpace(address)) }
