package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxHops is how many trusted proxies in a row are followed.
	maxHops = 32

	// maxNode is the most bytes of one forwarded address; the longest real one,
	// an IPv6 address with a zone and a port, is shorter.
	maxNode = 100
)

// clientAddress puts the client's true address into Request.RemoteAddr before
// next sees the request. The port is kept where it is known, and 0 elsewhere.
//
// What X-Forwarded-For and Forwarded say counts only if the peer is a trusted
// proxy. They are read from the right, where the nearest proxy wrote: trusted
// networks are passed over, and the first address outside of them is the
// client. Whatever stands to its left, the client may have written itself. An
// entry that is no address ends the search at the trusted proxy that wrote it,
// and so do two headers that disagree, because a proxy that writes one of them
// may pass on a forged other one.
func clientAddress(trusted []netip.Prefix, next http.Handler) http.Handler {
	if len(trusted) == 0 {
		return next
	}
	trusts := func(a netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer, ok := parseNode(r.RemoteAddr); ok && trusts(peer.Addr()) {
			if client := forwardedClient(r.Header, peer, trusts); client != peer {
				r.RemoteAddr = client.String()
			}
		}
		next.ServeHTTP(w, r)
	})
}

// forwardedClient returns the client of a request that the trusted peer passed
// on, or peer itself.
func forwardedClient(h http.Header, peer netip.AddrPort, trusts func(netip.Addr) bool) netip.AddrPort {
	plain, standard := h["X-Forwarded-For"], h["Forwarded"]
	switch {
	case len(standard) == 0:
		return walk(plain, splitPlain, peer, trusts)
	case len(plain) == 0:
		return walk(standard, splitForwarded, peer, trusts)
	}
	client := walk(plain, splitPlain, peer, trusts)
	if walk(standard, splitForwarded, peer, trusts).Addr() != client.Addr() {
		return peer
	}
	return client
}

// walk goes through the nodes of the header's lines from right to left, and
// returns the first that is not trusted, or the last trusted one.
func walk(lines []string, split func(line string) (nodes []string, ok bool), peer netip.AddrPort, trusts func(netip.Addr) bool) netip.AddrPort {
	known, hops := peer, 0
	for _, line := range slices.Backward(lines) {
		nodes, ok := split(line)
		if !ok {
			return known
		}
		for _, node := range slices.Backward(nodes) {
			addr, ok := parseNode(node)
			if !ok {
				return known
			}
			known = addr
			if hops++; !trusts(addr.Addr()) || hops == maxHops {
				return known
			}
		}
	}
	return known
}

// splitPlain returns the last entries of a line of X-Forwarded-For, as many as
// are ever looked at.
func splitPlain(line string) (nodes []string, ok bool) {
	for more := true; more && len(nodes) < maxHops; {
		comma := strings.LastIndexByte(line, ',')
		nodes = append(nodes, strings.Trim(line[comma+1:], " \t"))
		if more = comma >= 0; more {
			line = line[:comma]
		}
	}
	slices.Reverse(nodes)
	return nodes, true
}

// splitForwarded returns the "for" of each element of a line of Forwarded (RFC
// 7239); "" for an element without one. A line that breaks the grammar
// anywhere, or has too many elements, is not ok: nobody knows which part of it
// the proxy wrote.
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
