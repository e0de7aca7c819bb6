package dashboard

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/account"
)

// cookie is the cookie that carries the secret of a session.
type cookie struct {
	name   string
	secure bool
}

// newCookie returns the cookie of a service that is reached over HTTPS, or over plain HTTP. Browsers accept a name that
// begins with __Host- only over HTTPS, from this very host.
func newCookie(https bool) cookie {
	if https {
		return cookie{"__Host-allswell", true}
	}
	return cookie{"allswell", false}
}

// read returns the secret that a request carries, or "".
func (c cookie) read(r *http.Request) string {
	found, err := r.Cookie(c.name)
	if err != nil {
		return ""
	}
	return found.Value
}

// SessionSecret returns the secret of the session that a request carries, or "".
func (d *Dashboard) SessionSecret(r *http.Request) string { return d.cookie.read(r) }

// set makes the browser send the secret from now on. The session decides when it ends, not the cookie.
func (c cookie) set(w http.ResponseWriter, secret string) {
	http.SetCookie(w, &http.Cookie{
		Name: c.name, Value: secret, Path: "/", MaxAge: int(account.SessionMaxAge.Seconds()),
		HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteLaxMode,
	})
}

// clear makes the browser forget the secret.
func (c cookie) clear(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{
		Name: c.name, Path: "/", MaxAge: -1, HttpOnly: true, Secure: c.secure, SameSite: http.SameSiteLaxMode,
	})
}
