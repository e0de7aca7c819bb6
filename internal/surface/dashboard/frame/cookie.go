package frame

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/account"
)

// Cookie is the cookie that carries the secret of a session.
type Cookie struct {
	Name   string
	Secure bool
}

// newCookie returns the session cookie of a service that is reached over HTTPS, or over plain HTTP. Browsers accept a
// name that begins with __Host- only over HTTPS, and only from this host.
func newCookie(https bool) Cookie {
	if https {
		return Cookie{"__Host-allswell", true}
	}
	return Cookie{"allswell", false}
}

// read returns the secret that a request carries, or "".
func (c Cookie) read(r *http.Request) string {
	found, err := r.Cookie(c.Name)
	if err != nil {
		return ""
	}
	return found.Value
}

// SessionSecret returns the secret of the session that a request carries, or "".
func (f *Frame) SessionSecret(r *http.Request) string { return f.SessionCookie.read(r) }

// Set sets the cookie. The session decides when it ends, not the cookie.
func (c Cookie) Set(w http.ResponseWriter, secret string) {
	http.SetCookie(w, &http.Cookie{
		Name: c.Name, Value: secret, Path: "/", MaxAge: int(account.SessionMaxAge.Seconds()),
		HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteLaxMode,
	})
}

// Clear deletes the cookie.
func (c Cookie) Clear(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{
		Name: c.Name, Path: "/", MaxAge: -1, HttpOnly: true, Secure: c.Secure, SameSite: http.SameSiteLaxMode,
	})
}
