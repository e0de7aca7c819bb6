package alertchannel

import "testing"

// TestHostOf checks that a URL's host is the same however the URL is written.
func TestHostOf(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com": "example.com:https", "https://Example.com.:443/x": "example.com:https",
		"http://example.com:80":  "example.com:http",
		"https://example.com:80": "example.com:80", "http://example.com:443": "example.com:443",
		"https://example.com:8443/x": "example.com:8443", "https://[2001:db8::1]:443": "2001:db8::1:https", "://": "",
	} {
		if got := hostOf(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
