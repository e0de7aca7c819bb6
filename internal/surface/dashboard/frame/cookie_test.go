package frame

import "testing"

func TestCookieOverHTTPS(t *testing.T) {
	d := &Frame{SessionCookie: newCookie(true)}
	if d.SessionCookie.Name != "__Host-allswell" || !d.SessionCookie.Secure {
		t.Errorf("cookie %+v", d.SessionCookie)
	}
}
