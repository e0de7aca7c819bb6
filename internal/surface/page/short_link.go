package page

import (
	"net/http"
	"net/url"
)

// shortLinks maps the paths of links in SMS to the forms to which they redirect. The paths are short because an SMS has
// few characters.
var shortLinks = map[string]string{"/s/": "subscription/", "/u/": "unsubscribe/"}

// routeShortLink redirects a link in an SMS to its form, and reports whether path is such a link. Neither links nor
// forms use a page's own domain.
func (s *Site) routeShortLink(w http.ResponseWriter, r *http.Request, path string) bool {
	if len(path) < 3 || shortLinks[path[:3]] == "" || !isRead(r) {
		return false
	}
	part := shortLinks[path[:3]] + path[3:]
	found := s.lookUpKey(r, part)
	if found.err != nil {
		s.failFor(w, r, found.err)
		return true
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, "/status/"+url.PathEscape(found.slug)+"/"+part, http.StatusFound)
	return true
}
