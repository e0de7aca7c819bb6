package frame

import "testing"

func TestSignInLeadsNowhereElse(t *testing.T) {
	for next, want := range map[string]string{
		"/admin/x?y=z": "/admin/x?y=z", "/admin": "/admin", "": "/admin", "/": "/admin", "/administrator": "/admin",
		"//evil.example/admin/":       "/admin",
		"https://evil.example/admin/": "/admin", `/admin/\evil`: "/admin", "/admin/../../evil": "/admin/../../evil",
		"javascript:alert(1)": "/admin", "/admin/\r\nX: y": "/admin",
		`\\evil.example`: "/admin", "admin/x": "/admin",
	} {
		if got := LocalPath(next); got != want {
			t.Errorf("localPath(%q) = %q, want %q", next, got, want)
		}
	}
}
