package signin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// knownBrowserAge is how long a browser is known after a sign-in with a password.
	knownBrowserAge = 180 * 24 * time.Hour
	// maxKnownAccounts is the maximum number of accounts for which a browser keeps a mark.
	maxKnownAccounts = 4
)

// knownBrowsers are the marks of a browser that has signed in to some accounts with their passwords, newest first. A
// mark alone does not sign in: it moves attempts to sign in to a separate queue and a separate limit, apart from
// strangers. The hash of the account's password signs the mark, so that it is valid on all replicas and after a
// restart, until the password changes.
type knownBrowsers []knownBrowser

// knownBrowser is one mark.
type knownBrowser struct {
	id    string // random
	since int64  // in Unix seconds
	mac   string
}

func newKnownBrowser(passwordHash string, now time.Time) knownBrowser {
	b := knownBrowser{id: rand.Text(), since: now.Unix()}
	b.mac = b.sign(passwordHash)
	return b
}

func (b knownBrowser) sign(passwordHash string) string {
	mac := hmac.New(sha256.New, []byte(passwordHash))
	mac.Write([]byte("known browser " + b.id + " " + strconv.FormatInt(b.since, 10)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (b knownBrowser) String() string {
	return b.id + "." + strconv.FormatInt(b.since, 10) + "." + b.mac
}

// signedBy reports whether the mark is valid for the account whose password has the hash.
func (b knownBrowser) signedBy(passwordHash string, now time.Time) bool {
	age := now.Sub(time.Unix(b.since, 0))
	return passwordHash != "" && age < knownBrowserAge && hmac.Equal([]byte(b.mac), []byte(b.sign(passwordHash)))
}

// find returns the id of the mark that is valid for the account whose password has the hash; "": there is none.
func (k knownBrowsers) find(passwordHash string, now time.Time) (id string) {
	for _, b := range k {
		if b.signedBy(passwordHash, now) {
			return b.id
		}
	}
	return ""
}

// knownBrowsers reads the cookie. Malformed parts are ignored.
func (r *request) knownBrowsers() (k knownBrowsers) {
	found, err := r.Cookie(r.SessionCookie.Name + "-known")
	if err != nil {
		return nil
	}
	for text := range strings.SplitSeq(found.Value, "~") {
		parts := strings.Split(text, ".")
		if len(parts) != 3 || len(k) == maxKnownAccounts || len(text) > 200 {
			continue
		}
		if since, err := strconv.ParseInt(parts[1], 10, 64); err == nil {
			k = append(k, knownBrowser{parts[0], since, parts[2]})
		}
	}
	return k
}

// rememberBrowser gives the browser a mark of an account, after a sign-in. passwordHash is the hash of its password;
// "": it has none, and nothing is done.
func (r *request) rememberBrowser(passwordHash string) {
	if passwordHash == "" {
		return
	}
	marks := []string{newKnownBrowser(passwordHash, r.Now()).String()}
	for _, b := range r.knownBrowsers() {
		if len(marks) < maxKnownAccounts && !b.signedBy(passwordHash, r.Now()) {
			marks = append(marks, b.String())
		}
	}
	http.SetCookie(r.W, &http.Cookie{
		Name: r.SessionCookie.Name + "-known", Value: strings.Join(marks, "~"), Path: "/",
		MaxAge: int(knownBrowserAge.Seconds()), HttpOnly: true, Secure: r.SessionCookie.Secure,
		SameSite: http.SameSiteLaxMode,
	})
}
