package main

import (
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/allswell/allswell/internal/limit"
)

const (
	// maxHops is how many trusted proxies in a row are followed.
	maxHops = 32

	// maxNode is the most bytes of one forwarded address; the longest real one,
	// an IPv6 address with a zone and a port, is shorter.
	maxNode = 100
)

// clientHeader is a header field in which proxies report the address of their
// client.
type clientHeader struct {
	name  string // as it is documented
	key   string // as http.Header has it
	nodes func(lines []string) iter.Seq[string]
}

// clientHeaders are the fields that ALLSWELL_CLIENT_IP_HEADER may name. nodes
// returns the reported addresses from right to left: the nearest proxy wrote the
// first. It yields "" for what cannot be read, and ends there.
var clientHeaders = []clientHeader{
	newClientHeader("X-Forwarded-For", listedNodes),
	newClientHeader("Forwarded", forwardedNodes),
	newClientHeader("X-Real-IP", singleNode),
	newClientHeader("CF-Connecting-IP", singleNode),
	newClientHeader("True-Client-IP", singleNode),
	newClientHeader("Fastly-Client-IP", singleNode),
	newClientHeader("Fly-Client-IP", singleNode),
}

func newClientHeader(name string, nodes func([]string) iter.Seq[string]) clientHeader {
	return clientHeader{name, http.CanonicalHeaderKey(name), nodes}
}

// clients tells who sent a request.
type clients struct {
	header  clientHeader   // the only field that decides
	trusted []netip.Prefix // proxies whose header counts
	exempt  []netip.Prefix // whose pings are not limited
}

func newClients(c config) *clients {
	header := clientHeaders[0] // the default
	if i := slices.IndexFunc(clientHeaders, func(h clientHeader) bool { return h.name == c.clientIPHeader }); i >= 0 {
		header = clientHeaders[i]
	}
	return &clients{header: header, trusted: c.trustedProxies, exempt: c.pingExempt}
}

// resolve puts the client's address into Request.RemoteAddr before next sees the
// request. The port is kept where it is known, and 0 elsewhere.
//
// The header counts only if the peer is a trusted proxy. It is read from the
// right: trusted proxies are skipped, and the first other address is the client.
// The client may have written anything to the left of it. An entry that is not
// an address ends the search at the trusted proxy that wrote it. All forwarding
// headers of other peers are removed.
func (c *clients) resolve(next http.Handler) http.Handler {
	if len(c.trusted) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer, ok := parseNode(r.RemoteAddr); !ok || !c.trusts(peer.Addr()) {
			for _, header := range clientHeaders {
				delete(r.Header, header.key)
			}
		} else if client, _ := c.walk(c.header.nodes(r.Header[c.header.key]), peer); client != peer {
			r.RemoteAddr = client.String()
		}
		next.ServeHTTP(w, r)
	})
}

// isExempt reports whether a request that resolve has passed on comes from an
// address whose pings are not limited. Where a proxy may not replace the header
// that decides, a client can forge it: a request is not exempt if any forwarding
// header cannot be read, or names another client.
func (c *clients) isExempt(r *http.Request) bool {
	client := limit.AddressOf(r.RemoteAddr)
	if !contains(c.exempt, client) {
		return false
	}
	if len(c.trusted) == 0 {
		return true // no header means anything
	}
	for _, header := range clientHeaders {
		lines, ok := r.Header[header.key]
		if !ok {
			continue
		}
		// A trusted proxy behind another one is not a client.
		named, certain := c.walk(header.nodes(lines), netip.AddrPortFrom(client, 0))
		if !certain || named.Addr() != client && !c.trusts(named.Addr()) {
			return false
		}
	}
	return true
}

func (c *clients) trusts(addr netip.Addr) bool { return contains(c.trusted, addr) }

func contains(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// walk returns the first node that is not trusted, or else the last trusted one;
// peer if there are none. certain is false if a node that is not an address, or
// too many of them, ended the search.
func (c *clients) walk(nodes iter.Seq[string], peer netip.AddrPort) (client netip.AddrPort, certain bool) {
	client, hops := peer, 0
	for node := range nodes {
		addr, ok := parseNode(node)
		if !ok {
			return client, false
		}
		client = addr
		if !c.trusts(addr.Addr()) {
			return client, true
		}
		if hops++; hops == maxHops {
			return client, false
		}
	}
	return client, true
}

// listedNodes reads a list of addresses separated by commas.
func listedNodes(lines []string) iter.Seq[string] {
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

// singleNode reads a field that holds one address. Nobody knows which of several
// the proxy wrote.
func singleNode(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(lines) > 1 {
			yield("")
		} else if len(lines) == 1 {
			yield(strings.Trim(lines[0], " \t"))
		}
	}
}

// forwardedNodes reads Forwarded (RFC 7239).
func forwardedNodes(lines []string) iter.Seq[string] {
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

// splitForwarded returns the "for" of each element of a line of Forwarded; "" for
// an element without one. A line that violates the grammar anywhere, or has more
// than maxHops elements, is not ok: nobody knows which part of it the proxy wrote.
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

// forwardedElement reads one element, up to the comma that rest begins with.
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

// forwardedValue reads a token or a quoted string.
func forwardedValue(s string) (value, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		// An unquoted IPv4 address with a port is no token by the grammar,
		// but some proxies write it.
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

// isTokenChar reports whether r may stand in a token (RFC 9110, 5.6.2).
func isTokenChar(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// parseNode reads an address as proxies write it: with or without a port, an
// IPv6 address in brackets or bare. An IPv4 address that is written as an IPv6
// address becomes one again, and a zone is dropped: it means something on the
// proxy's machine only.
func parseNode(s string) (netip.AddrPort, bool) {
	if len(s) > maxNode {
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

// badNetwork is an entry of a list that is neither an address nor a network.
type badNetwork struct{ entry string }

func (e *badNetwork) Error() string {
	return fmt.Sprintf("%q is neither an address nor a network such as 10.0.0.0/8 or 2001:db8::/32", e.entry)
}

// parseNetworks reads a list of addresses and networks (CIDR), separated by
// commas; a lone address is a network of one. The empty list has none. The
// error names the first bad entry.
func parseNetworks(list string) ([]netip.Prefix, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var networks []netip.Prefix
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		network, ok := parseNetwork(entry)
		if !ok {
			return nil, &badNetwork{entry}
		}
		networks = append(networks, network)
	}
	return networks, nil
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
		// Addresses are compared as IPv4, so the network has to be it, too.
		if network.Bits() < 96 {
			return netip.Prefix{}, false
		}
		network = netip.PrefixFrom(addr.Unmap(), network.Bits()-96)
	}
	return network.Masked(), true
}
