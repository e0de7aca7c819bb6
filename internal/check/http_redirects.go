package check

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/allswell/allswell/internal/shared/hostname"
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
	errRedirectTarget = errors.New("redirect without a host")
	errRedirectLoop   = errors.New("redirects in a circle")
)

// redirect returns what http.Client calls before it follows a redirect. Credentials and headers are for the configured
// origin only: after a redirect to another origin they are not sent again, even if a later redirect leads back. Each
// address is checked when it is connected to.
func (p *httpProbe) redirect(transport *http.Transport, hops *requests) func(*http.Request, []*http.Request) error {
	left := false // the configured origin
	return func(next *http.Request, via []*http.Request) error {
		if !p.FollowRedirects {
			return http.ErrUseLastResponse
		}
		if len(via) > maxRedirects {
			if isLoop(next, via) {
				return errRedirectLoop
			}
			return errRedirects
		}
		if next.URL.Scheme != "http" && next.URL.Scheme != "https" {
			return errRedirectScheme
		}
		if next.URL.Hostname() == "" {
			return errRedirectTarget
		}
		if host, ok := hostname.InHostPort(next.URL.Host); ok {
			next.URL.Host = host
		}
		left = left || !isSameOrigin(next.URL, p.url)
		if left && hasBody(next) && p.url.Scheme == "https" && next.URL.Scheme == "http" {
			return http.ErrUseLastResponse // the body was encrypted before
		}
		hops.goTo(next.URL)
		if left {
			p.startAfresh(next)
			transport.TLSClientConfig.Certificates = nil
		}
		if !hasBody(next) {
			for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Location"} {
				next.Header.Del(name)
			}
		}
		if len(via) > 0 && !isSameOrigin(next.URL, via[len(via)-1].URL) {
			next.Header.Del("Referer")
		}
		return nil
	}
}

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// isLoop reports whether a request repeats an earlier one.
func isLoop(next *http.Request, via []*http.Request) bool {
	return slices.ContainsFunc(via, func(r *http.Request) bool {
		return r.Method == next.Method && r.URL.String() == next.URL.String()
	})
}

// startAfresh removes from a request what is only for the configured origin. What a browser would send to any origin
// remains, unless it is a secret. The client adds the cookies of the new host afterwards.
func (p *httpProbe) startAfresh(next *http.Request) {
	referer := next.Header.Get("Referer")
	next.Host, next.Header = "", http.Header{"User-Agent": {"Allswell"}}
	kept := []string{"User-Agent", "Accept", "Accept-Language"}
	if hasBody(next) {
		kept = append(kept, "Content-Type")
	}
	for name, value := range p.Headers {
		if name = http.CanonicalHeaderKey(name); slices.Contains(kept, name) && !hasHeader(p.SecretHeaders, name) {
			next.Header.Set(name, value)
		}
	}
	if referer != "" && !hasHeader(p.Headers, "Referer") && !hasHeader(p.SecretHeaders, "Referer") {
		next.Header.Set("Referer", referer) // of the redirect before, which redirect judges
	}
}

func hasHeader(headers map[string]string, name string) bool {
	for n := range headers {
		if http.CanonicalHeaderKey(n) == name {
			return true
		}
	}
	return false
}

// isSameOrigin reports whether two URLs have the same scheme, host and port.
func isSameOrigin(a, b *url.URL) bool {
	one, other := urlTarget(a), urlTarget(b)
	return a.Scheme == b.Scheme && strings.EqualFold(one.Host, other.Host) && one.Port == other.Port
}

// newJar returns the cookies of one check, which a redirect may set and a later one needs.
func newJar() http.CookieJar {
	jar, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // never fails
	return jar
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
