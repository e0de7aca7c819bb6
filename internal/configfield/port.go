package configfield

import (
	"net/url"
	"strconv"

	"github.com/allswell/allswell"
)

// CheckPort reports whether the port of a URL, if it has one, is from 1 to 65535. Otherwise it adds a message.
func CheckPort(bad *allswell.ValidationError, field string, u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	port, err := strconv.Atoi(u.Port())
	if err == nil && 1 <= port && port <= 65535 {
		return true
	}
	bad.Add(field, "The %s has the port %s: ports are from 1 to 65535.", field, u.Port())
	return false
}
