// Package hostname turns the names of hosts, as people write them, into the form that DNS, TLS and HTTP use.
package hostname

import (
	"net"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits of DNS, in bytes.
const (
	maxName  = 253
	maxLabel = 63
)

// dots are the full stops of other scripts, which separate labels too (UTS 46).
var dots = strings.NewReplacer("。", ".", "．", ".", "｡", ".")

// ASCII returns a name whose labels in other scripts are converted to ASCII (xn--…), as browsers look it up:
// bücher.example is xn--bcher-kva.example, and １２７.０.０.１ is an address. A name in ASCII is returned unchanged, with its
// case, a final dot, and characters that IDNA refuses, such as the underscore of a container. If the name has no ASCII
// form, ok is false.
func ASCII(name string) (ascii string, ok bool) {
	if isASCII(name) {
		return name, true
	}
	if !utf8.ValidString(name) {
		return name, false
	}
	labels := strings.Split(dots.Replace(name), ".")
	for i, label := range labels {
		if isASCII(label) {
			continue
		}
		converted, err := idna.Lookup.ToASCII(label)
		if err != nil || converted == "" || len(converted) > maxLabel || strings.Contains(converted, ".") {
			return name, false
		}
		labels[i] = converted
	}
	ascii = strings.Join(labels, ".")
	return ascii, len(strings.TrimSuffix(ascii, ".")) <= maxName
}

// InURL returns a URL with its host in ASCII. The rest of the URL, and a text that is no URL, is not changed. If the
// host has no ASCII form, ok is false.
func InURL(text string) (ascii string, ok bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return text, true
	}
	authority, path := rest, ""
	if end := strings.IndexAny(rest, `/?#\`); end >= 0 {
		authority, path = rest[:end], rest[end:]
	}
	at := strings.LastIndexByte(authority, '@') + 1
	host, port := authority[at:], ""
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 {
		host, port = host[:colon], host[colon:]
	}
	name, err := url.PathUnescape(host) // as browsers and net/url read it
	if err != nil || isASCII(name) {
		return text, true
	}
	if name, ok = ASCII(name); !ok {
		return text, false
	}
	return scheme + "://" + authority[:at] + name + port + path, true
}

// InAddress returns a mail address with its domain in ASCII. If the domain has no ASCII form, ok is false.
func InAddress(address string) (ascii string, ok bool) {
	at := strings.LastIndexByte(address, '@') + 1
	domain, ok := ASCII(address[at:])
	return address[:at] + domain, ok
}

// InHostPort returns HOST:PORT, or a host, in ASCII. If the host has no ASCII form, ok is false.
func InHostPort(address string) (ascii string, ok bool) {
	host, port := address, ""
	if colon := strings.LastIndexByte(address, ':'); colon >= 0 {
		host, port = address[:colon], address[colon:]
	}
	host, ok = ASCII(host)
	return host + port, ok
}

// Hello returns the name that a client sends in EHLO: the first of several names that a mail server can look up,
// because it has a dot and is not an address. If there is none, it returns ""; the client then sends HelloFrom.
func Hello(names ...string) string {
	for _, name := range names {
		ascii, ok := ASCII(strings.TrimSuffix(name, "."))
		if ok && strings.Contains(ascii, ".") && net.ParseIP(ascii) == nil {
			return ascii
		}
	}
	return ""
}

// HelloFrom returns an address of this machine as an address literal, which a client without a name sends in EHLO (RFC
// 5321, section 4.1.4).
func HelloFrom(local net.Addr) string {
	host, _, err := net.SplitHostPort(local.String())
	ip := net.ParseIP(host)
	switch {
	case err != nil || ip == nil:
		return "[127.0.0.1]"
	case ip.To4() != nil:
		return "[" + ip.To4().String() + "]"
	default:
		return "[IPv6:" + ip.String() + "]"
	}
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}
