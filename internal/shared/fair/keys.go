package fair

import "net/netip"

// User and Page return keys of the usual kinds.
func User(id string) Key { return Key{Kind: "user", Name: id} }
func Page(id string) Key { return Key{Kind: "page", Name: id} }

// Client returns the keys of a client's address: a key of the address, or of the /64 network of an IPv6 address, which
// belongs to one customer; and a key of the /24 or /48 network around it, because one person may have many neighbouring
// addresses. Clients without an address, as on a Unix socket, share their keys.
func Client(addr netip.Addr) []Key {
	addr = addr.Unmap().WithZone("")
	customer, network := 64, 48
	if addr.Is4() {
		customer, network = 32, 24
	}
	return []Key{{Kind: "address", Name: prefix(addr, customer)}, {Kind: "network", Name: prefix(addr, network)}}
}

func prefix(addr netip.Addr, bits int) string {
	p, err := addr.Prefix(bits)
	if err != nil {
		return ""
	}
	return p.String()
}
