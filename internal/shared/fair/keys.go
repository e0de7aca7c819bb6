package fair

import "net/netip"

// User and Page return keys of the usual kinds.
func User(id string) Key { return Key{Kind: "user", Name: id} }
func Page(id string) Key { return Key{Kind: "page", Name: id} }

// Client returns the keys of a client's address: of the address, where the 64 bits of an IPv6 network that belong to
// one customer are one, and of the network around it, because one person may have many neighbouring addresses. Clients
// without an address, as on a Unix socket, are one client.
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
