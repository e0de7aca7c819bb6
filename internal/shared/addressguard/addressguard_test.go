package addressguard

import (
	"net"
	"net/netip"
	"testing"
)

// TestWhyNever checks both edges of the networks to which nothing connects, in every notation that leads there, and
// what is just outside.
func TestWhyNever(t *testing.T) {
	const metadata, link, none = "it belongs to a cloud's metadata service", "it is link-local",
		"it is not the address of one host"
	for text, want := range map[string]string{
		"169.253.255.255": "", "169.254.0.0": link, "169.254.0.23": link, "169.254.255.255": link, "169.255.0.0": "",
		"169.254.169.254": metadata, "169.254.169.253": link, "169.254.170.2": metadata,
		"168.63.129.15": "", "168.63.129.16": metadata, "168.63.129.17": "",
		"100.100.100.199": "", "100.100.100.200": metadata, "100.100.100.201": "", "192.0.0.191": "",
		"192.0.0.192": metadata,
		"0.0.0.0":     none, "0.255.255.255": none, "1.0.0.0": "", "223.255.255.255": "", "224.0.0.0": none,
		"239.255.255.255": none,
		"240.0.0.0":       "", "255.255.255.254": "", "255.255.255.255": none,
		"fe7f:ffff::": "", "fe80::": link, "fe80::a9fe:a9fe": link, "fe80::1%eth0": link, "febf:ffff::1": link,
		"fec0::":        "",
		"fd00:ec1::254": "", "fd00:ec2::254": metadata, "fd00:ec3::": "", "fd20:ce::253": "", "fd20:ce::254": metadata,
		"fd00:42::42": metadata, "ff02::1": none, "::": none, "::1": "", "127.0.0.1": "", "10.0.0.1": "", "fd00::1": "",
		"::ffff:169.254.0.1": link, "::ffff:169.254.169.254": metadata, "::ffff:0.1.2.3": none, "::ffff:10.0.0.1": "",
		"::169.254.0.1": link, "::ffff:0:a9fe:1": link, "::ffff:0:a00:1": "",
		"64:ff9b::a9fe:1": link, "64:ff9b::a9fe:a9fe": metadata, "64:ff9b::e000:1": none, "64:ff9b::808:808": "",
		"64:ff9b:1::a9fe:1": link, "64:ff9b:1::a00:1": "", "64:ff9b:1:a9fe:a9:fe00::": metadata,
		"64:ff9b:1:a9:fe:100::": link, "64:ff9b:1:0:a9:fea9:fe00:0": metadata,
		"2002:a9fe:1::": link, "2002:a9fe:a9fe::1": metadata, "2002:808:808::1": "",
		"2001:0:a9fe:a9fe::": metadata, "2001:0:808:808:0:0:5601:5601": metadata, "2001:0:808:808:0:0:f7f7:f7f7": "",
		"::5efe:a9fe:1": link, "::200:5efe:a9fe:1": link, "2606:4700::1111": "", "8.8.8.8": "",
	} {
		addr := netip.MustParseAddr(text)
		if got := WhyNever(addr); got != want {
			t.Errorf("WhyNever(%s) = %q, want %q", text, got, want)
		}
		if addr.Is6() { // an interface hides nothing
			if got := WhyNever(addr.WithZone("eth0")); got != want {
				t.Errorf("WhyNever(%s%%eth0) = %q, want %q", text, got, want)
			}
		}
		target := netip.AddrPortFrom(addr, 80).String()
		if err := Control("tcp", target, nil); (err != nil) != (want != "") {
			t.Errorf("Control of %s = %v", text, err)
		}
		permitting := NewOutgoingGuard(nil, true)
		permitting.own.List = func() ([]net.Addr, error) { return nil, nil }
		if err := permitting.Control("tcp", target, nil); (err != nil) != (want != "") {
			t.Errorf("%s with private addresses: %v", text, err)
		}
	}
}
