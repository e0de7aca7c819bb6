package check

import (
	"errors"
	"fmt"
	"net/http"
)

// Limits of redirects.
const (
	maxRedirects      = 10
	maxRedirectTarget = 200 // bytes of the last address that a reason has
)

// Errors of redirects.
var (
	errRedirects      = errors.New("too many redirects")
	errRedirectScheme = errors.New("redirect to another scheme")
)

// redirect returns what http.Client calls before it follows a redirect. Credentials, headers and the body are for the
// configured host only. Each address is checked when it is connected to.
func (p *httpProbe) redirect(transport *http.Transport, hops *requests) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		if !p.FollowRedirects {
			return http.ErrUseLastResponse
		}
		if len(via) > maxRedirects {
			return errRedirects
		}
		if next.URL.Scheme != "http" && next.URL.Scheme != "https" {
			return errRedirectScheme
		}
		hops.goTo(next.URL)
		if next.URL.Scheme == p.url.Scheme && next.URL.Host == p.url.Host {
			return nil
		}
		if next.Body != nil && next.Body != http.NoBody {
			return http.ErrUseLastResponse
		}
		for name := range next.Header {
			if name != "User-Agent" && name != "Accept" && name != "Referer" {
				next.Header.Del(name)
			}
		}
		transport.TLSClientConfig.Certificates = nil
		return nil
	}
}

// afterRedirects says where redirects have led to, without the query, which may have secrets; "": there were none.
func afterRedirects(last *http.Request) string {
	count := 0
	for r := last; r.Response != nil; r = r.Response.Request {
		count++
	}
	if count == 0 {
		return ""
	}
	target := last.URL.Scheme + "://" + last.URL.Host + last.URL.EscapedPath()
	if len(target) > maxRedirectTarget {
		target = target[:maxRedirectTarget] + "…"
	}
	if count == 1 {
		return ", after a redirect to " + target
	}
	return fmt.Sprintf(", after %d redirects, the last one to %s", count, target)
}
