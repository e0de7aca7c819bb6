package page

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/web"
)

const typeText = "text/plain; charset=utf-8"

// robots permits everything but the API. Pages that search engines must not index send
// X-Robots-Tag: naming them here would reveal them.
var robots = sync.OnceValue(func() *web.Document { return newTextDocument("User-agent: *\nDisallow: /api/\n") })

func newTextDocument(text string) *web.Document {
	return web.NewDocument([]byte(text), web.DocumentHeader{
		ContentType: typeText, CacheControl: "public, max-age=3600", Policy: web.PolicyData,
	})
}

// routeWellKnown serves the paths that clients ask for at every host, whether or not a page is
// served there, and reports whether it did.
func (s *Site) routeWellKnown(w http.ResponseWriter, r *http.Request, path string) bool {
	if !isRead(r) {
		return false
	}
	switch path {
	case "/robots.txt":
		robots().ServeHTTP(w, r)
	case "/favicon.ico":
		assets.FaviconICO().ServeHTTP(w, r)
	case "/.well-known/security.txt":
		if s.security == "" {
			s.fail(w, r, http.StatusNotFound)
			return true
		}
		securityText(s.security, s.now()).ServeHTTP(w, r)
	default:
		return false
	}
	return true
}

// securityText returns the document of RFC 9116. Its expiry date is at the beginning of a month, eleven to twelve
// months ahead, so that the document rarely changes.
func securityText(contact string, now time.Time) *web.Document {
	expires := time.Date(now.Year(), now.Month()+12, 1, 0, 0, 0, 0, time.UTC)
	return newTextDocument(fmt.Sprintf("Contact: %s\nExpires: %s\n", contact, expires.Format(time.RFC3339)))
}
