package check

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/addressguard"
	"github.com/allswell/allswell/internal/shared/hostname"
)

// Fields that several types have.
var (
	insecureField = Field{
		Name: "insecure", Label: "Verify TLS certificate", Help: "Accept any certificate.",
		NoHint: true, Opposite: true,
		Kind: configfield.KindFlag, Advanced: true, Default: "false",
	}

	caField = Field{
		Name: "ca_certificates", Label: "CA certificates", Help: "PEM file with the only authorities to trust.",
		Kind: configfield.KindLongText, Advanced: true,
	}

	clientCertificateField = Field{
		Name: "client_certificate", Label: "Client certificate",
		Help: "PEM file with a certificate and its private key.", Kind: configfield.KindLongText, Secret: true,
		Advanced: true,
	}

	tlsField = Field{
		Name: "tls", Label: "TLS", Help: "Whether to speak TLS.",
		NoHint: true, Kind: configfield.KindFlag, Default: "false",
	}

	ipVersionField = Field{
		Name: "ip_version", Label: "IP version", Help: "Use only this version of IP: 4 or 6.",
		Kind: configfield.KindText, Advanced: true, Choices: []string{"4", "6"},
	}
)

// hostField is the field of the target's name or address.
func hostField(example string) Field {
	return Field{
		Name: "host", Label: "Host", Help: "Name or IP address.", Kind: configfield.KindText, Required: true, Max: 253,
		Example: example,
	}
}

// portField is the field of a port that is required.
func portField(example string) Field {
	return Field{
		Name: "port", Label: "Port", Help: "TCP port.", NoHint: true, Kind: configfield.KindInteger, Min: 1, Max: 65535,
		Required: true, Example: example,
	}
}

// standardPort is the field of a port whose default is the standard port of the protocol.
func standardPort(port int) Field {
	f := portField("")
	f.Required, f.Default = false, fmt.Sprint(port)
	return f
}

// checkHost trims a name or address, and adds an error to bad if it is not valid.
func checkHost(bad *kernel.ValidationError, field string, host *string) {
	*host = strings.Trim(strings.TrimSpace(*host), "[]")
	ascii, ok := hostname.ASCII(*host)
	*host = ascii
	switch {
	case *host == "":
		bad.Add(field, kernel.Required)
	case !ok || net.ParseIP(*host) == nil && !isHostName(*host):
		bad.Add(field, "must be a host name or an IP address")
	default:
		checkAddress(bad, field, *host)
	}
}

// checkAddress refuses a host that is an address to which no check connects. Names are looked up when they are checked.
func checkAddress(bad *kernel.ValidationError, field, host string) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if why := addressguard.WhyNever(addr); why != "" {
			bad.Add(field, "may not be at %s: %s", addr, why)
		}
	}
}

// isHostName reports whether a text can be a name in DNS. Names in other scripts are in ASCII already.
// Underscores are common in names of containers.
func isHostName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return false
		}
	}
	return true
}

// checkURL checks a URL without user and fragment. It must have one of the schemes; the error suggests the second one.
// It returns the parsed URL, or an empty one if the text is not valid.
func checkURL(bad *kernel.ValidationError, field string, text *string, schemes ...string) *url.URL {
	*text = strings.TrimSpace(*text)
	if !strings.Contains(*text, "://") {
		bad.Add(field, "must begin with %s://, such as %s://www.example.com", strings.Join(schemes, ":// or "),
			schemes[1])
		return &url.URL{}
	}
	ascii, ok := hostname.InURL(*text)
	u, err := url.Parse(ascii)
	*text = ascii
	if !ok || err != nil || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" || u.Fragment != "" ||
		u.User != nil ||
		strings.HasSuffix(u.Host, ":") || net.ParseIP(u.Hostname()) == nil && !isHostName(u.Hostname()) {
		kind := "a " + schemes[0] + "(s)"
		if schemes[0] == "http" {
			kind = "an http(s)"
		}
		for _, other := range schemes[2:] {
			kind += " or " + other
		}
		bad.Add(field, "must be %s URL without user name or fragment", kind)
		return &url.URL{}
	}
	if !kernel.CheckPort(bad, field, u) {
		return &url.URL{}
	}
	checkAddress(bad, field, u.Hostname())
	return u
}

// checkHostHeader turns the name in a Host header into the form that HTTP sends.
func checkHostHeader(bad *kernel.ValidationError, field string, headers map[string]string) {
	for name, value := range headers {
		if !strings.EqualFold(name, "Host") {
			continue
		}
		ascii, ok := hostname.InHostPort(strings.TrimSpace(value))
		if !ok {
			bad.Add(field, "The Host in the %s must be a host name.", kernel.Name(field))
		}
		headers[name] = ascii
	}
}
