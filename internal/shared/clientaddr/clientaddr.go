// Package clientaddr finds the address of a request's client, also behind reverse proxies, and parses addresses and
// networks.
package clientaddr

import (
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxHops is the maximum number of trusted proxies in a row that are followed.
	maxHops = 32

	// maxAddress is the maximum length of a forwarded address in bytes. The longest valid one, an IPv6 address with
	// a zone and a port, is shorter.
	maxAddress = 100
)

// header is a header field in which proxies report the address of their client.
type header struct {
	name string // as documented
	key  string // as in http.Header

	// addresses returns the reported addresses from right to left, so that the address that the nearest proxy added is
	// the first. It yields "" for a part that cannot be parsed, and stops there.
	addresses func(lines []string) iter.Seq[string]
}

// headers are the supported header fields. The first is the default.
var headers = []header{
	newHeader("X-Forwarded-For", listedAddresses),
	newHeader("Forwarded", forwardedAddresses),
	newHeader("X-Real-IP", singleAddress),
	newHeader("CF-Connecting-IP", singleAddress),
	newHeader("True-Client-IP", singleAddress),
	newHeader("Fastly-Client-IP", singleAddress),
	newHeader("Fly-Client-IP", singleAddress),
}

func newHeader(name string, addresses func([]string) iter.Seq[string]) header {
	return header{name, http.CanonicalHeaderKey(name), addresses}
}

// Headers returns the names of the supported header fields.
func Headers() []string {
	var names []string
	for _, h := range headers {
		names = append(names, h.name)
	}
	return names
}

// Config configures a Resolver.
type Config struct {
	Header  string         // the header field that trusted proxies set, one of Headers; "": X-Forwarded-For
	Trusted []netip.Prefix // the proxies trusted to report the client's address
	Exempt  []netip.Prefix // the clients for which Exempt returns true

	OnlyTrusted []string     // other header fields that count only if a trusted proxy sends them
	Logger      *slog.Logger // nil: discard
}

// Resolver finds the addresses of clients.
type Resolver struct {
	header  header
	trusted []netip.Prefix
	exempt  []netip.Prefix
	only    []string
	log     *slog.Logger
}

// NewResolver returns a Resolver.
func NewResolver(c Config) *Resolver {
	i := slices.IndexFunc(headers, func(h header) bool { return h.name == c.Header })
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Resolver{
		header: headers[max(i, 0)], trusted: c.Trusted, exempt: c.Exempt, only: c.OnlyTrusted, log: c.Logger,
	}
}

// Middleware sets Request.RemoteAddr to the client's address before next handles the request. The port is 0 if it is
// not known.
//
// The header counts only if the peer is a trusted proxy. It is read from the right: trusted proxies are skipped, and
// the first other address is the client's, because the client may have sent everything to the left of it. An entry that
// is not an address ends the search at the trusted proxy that added it. Requests of other peers lose all forwarding
// headers, and the headers of Config.OnlyTrusted.
func (v *Resolver) Middleware(next http.Handler) http.Handler {
	if len(v.trusted) == 0 && len(v.only) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer, ok := Parse(r.RemoteAddr); !ok || !contains(v.trusted, peer.Addr()) {
			for _, h := range headers {
				delete(r.Header, h.key)
			}
			v.removeOnlyTrusted(r)
		} else if client, _ := v.firstUntrusted(v.header.addresses(r.Header[v.header.key]), peer); client != peer {
			r.RemoteAddr = client.String()
		}
		next.ServeHTTP(w, r)
	})
}

// removeOnlyTrusted removes the header fields from a request that only trusted proxies may send.
func (v *Resolver) removeOnlyTrusted(r *http.Request) {
	for _, name := range v.only {
		if r.Header.Get(name) != "" {
			v.log.WarnContext(r.Context(), "a header that only trusted proxies may send was ignored", "header", name,
				"address", r.RemoteAddr)
		}
		r.Header.Del(name)
	}
}

// Exempt reports whether a request that Middleware has handled comes from an exempt client. A client can forge a
// header that its proxy does not replace, so a request is not exempt if any forwarding header cannot be parsed or
// names another client.
func (v *Resolver) Exempt(r *http.Request) bool {
	client := Of(r)
	if !contains(v.exempt, client) {
		return false
	}
	if len(v.trusted) == 0 {
		return true // forwarding headers are ignored
	}
	for _, h := range headers {
		lines, ok := r.Header[h.key]
		if !ok {
			continue
		}
		// A trusted proxy behind another one is not a client.
		named, valid := v.firstUntrusted(h.addresses(lines), netip.AddrPortFrom(client, 0))
		if !valid || named.Addr() != client && !contains(v.trusted, named.Addr()) {
			return false
		}
	}
	return true
}

func contains(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// firstUntrusted returns the first address that is not a trusted proxy's, or else the last one; peer if there are
// none. valid is false if the search ended early, at an invalid address or after maxHops.
func (v *Resolver) firstUntrusted(addresses iter.Seq[string], peer netip.AddrPort) (client netip.AddrPort, valid bool) {
	client, hops := peer, 0
	for text := range addresses {
		addr, ok := Parse(text)
		if !ok {
			return client, false
		}
		client = addr
		if !contains(v.trusted, addr.Addr()) {
			return client, true
		}
		if hops++; hops == maxHops {
			return client, false
		}
	}
	return client, true
}

// Of returns the address in Request.RemoteAddr. It is the zero Addr if that is not an address.
func Of(r *http.Request) netip.Addr {
	client, _ := Parse(r.RemoteAddr)
	return client.Addr()
}

// Parse parses an address with or without a port. An IPv6 address may be in brackets, and must be if it has a port.
// An IPv4 address in IPv6 form is returned as IPv4. A zone is dropped, because it is meaningless on other machines.
func Parse(s string) (netip.AddrPort, bool) {
	if len(s) > maxAddress {
		return netip.AddrPort{}, false
	}
	host, port := s, uint64(0)
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		host = s[1 : len(s)-1]
		if !strings.Contains(host, ":") {
			return netip.AddrPort{}, false
		}
	} else if strings.HasPrefix(s, "[") || strings.Count(s, ":") == 1 {
		h, p, err := net.SplitHostPort(s)
		if err != nil {
			return netip.AddrPort{}, false
		}
		if port, err = strconv.ParseUint(p, 10, 16); err != nil {
			return netip.AddrPort{}, false
		}
		host = h
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addr.WithZone("").Unmap(), uint16(port)), true
}

// listedAddresses parses a list of addresses separated by commas.
func listedAddresses(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range slices.Backward(lines) {
			for more := true; more; {
				comma := strings.LastIndexByte(line, ',')
				if !yield(strings.Trim(line[comma+1:], " \t")) {
					return
				}
				if more = comma >= 0; more {
					line = line[:comma]
				}
			}
		}
	}
}

// singleAddress parses a field that holds one address. Repeated fields are invalid, because any of them may be forged.
func singleAddress(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(lines) > 1 {
			yield("")
		} else if len(lines) == 1 {
			yield(strings.Trim(lines[0], " \t"))
		}
	}
}

// forwardedAddresses parses the Forwarded header (RFC 7239).
func forwardedAddresses(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range slices.Backward(lines) {
			nodes, ok := splitForwarded(line)
			if !ok {
				yield("")
				return
			}
			for _, node := range slices.Backward(nodes) {
				if !yield(node) {
					return
				}
			}
		}
	}
}

// splitForwarded returns the "for" parameter of each element of a Forwarded header; "" for an element without one. A
// header that violates the grammar anywhere or has more than maxHops elements is invalid, because it is unknown which
// part of it the proxy added.
func splitForwarded(line string) (nodes []string, ok bool) {
	for elements := 0; elements < maxHops; elements++ {
		node, rest, ok := forwardedElement(line)
		if !ok {
			return nil, false
		}
		nodes = append(nodes, node)
		if rest == "" {
			return nodes, true
		}
		line = rest[1:] // past the comma
	}
	return nil, false
}

// forwardedElement parses one element. rest is empty or begins with a comma.
func forwardedElement(line string) (node, rest string, ok bool) {
	for found := false; ; {
		line = strings.TrimLeft(line, " \t")
		name, after := cutToken(line)
		if name == "" || after == "" || after[0] != '=' {
			return "", "", false
		}
		value, after, ok := forwardedValue(after[1:])
		if !ok {
			return "", "", false
		}
		if strings.EqualFold(name, "for") {
			if found {
				return "", "", false
			}
			node, found = value, true
		}
		line = strings.TrimLeft(after, " \t")
		switch {
		case line == "" || line[0] == ',':
			return node, line, true
		case line[0] != ';':
			return "", "", false
		}
		line = line[1:]
	}
}

// forwardedValue parses a token or a quoted string.
func forwardedValue(s string) (value, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		// By the grammar, an unquoted IPv4 address with a port is not a token, but some proxies send it.
		end := strings.IndexFunc(s, func(r rune) bool { return !isTokenChar(r) && r != ':' })
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], end > 0
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) {
				return "", "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

func cutToken(s string) (token, rest string) {
	end := strings.IndexFunc(s, func(r rune) bool { return !isTokenChar(r) })
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}

// isTokenChar reports whether a token may contain r (RFC 9110, section 5.6.2).
func isTokenChar(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
		strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// ParseNetworks parses a list of addresses and networks (CIDR) separated by commas. An address becomes a network of
// one. The error names the first invalid entry.
func ParseNetworks(list string) ([]netip.Prefix, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var networks []netip.Prefix
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		network, err := ParseNetwork(entry)
		if err != nil {
			return nil, err
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// ParseNetwork parses an address or a network (CIDR).
func ParseNetwork(entry string) (netip.Prefix, error) {
	network, ok := parseNetwork(entry)
	if !ok {
		return netip.Prefix{},
			fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8 or 2001:db8::/32", entry)
	}
	return network, nil
}

func parseNetwork(entry string) (netip.Prefix, bool) {
	if !strings.Contains(entry, "/") {
		addr, err := netip.ParseAddr(entry)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, false
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	network, err := netip.ParsePrefix(entry)
	if err != nil {
		return netip.Prefix{}, false
	}
	if addr := network.Addr(); addr.Is4In6() {
		// Addresses are compared as IPv4, so the network must be IPv4, too.
		if network.Bits() < 96 {
			return netip.Prefix{}, false
		}
		network = netip.PrefixFrom(addr.Unmap(), network.Bits()-96)
	}
	return network.Masked(), true
}
