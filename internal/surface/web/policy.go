package web

import (
	"crypto/sha256"
	"encoding/base64"
)

// Policy is the value of a Content-Security-Policy header. All policies of the program are in this file.
type Policy string

const (
	// PolicyAPI is for JSON and plain text of the API and the service itself.
	PolicyAPI Policy = "default-src 'none'; frame-ancestors 'none'"
	// PolicyData is for feeds, calendars, badges and JSON that other sites embed.
	PolicyData Policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// PolicyWidget is for the state of a page in a frame on any site. The widget offers nothing to click except a link
	// to the page.
	PolicyWidget Policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors *"
	// PolicyImage is for uploaded images. An SVG can be opened like a page: it may
	// contain its own style, and no script.
	PolicyImage Policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
)

// PageContent describes the active contents of an HTML page.
type PageContent struct{ Form, Script bool }

// PolicyPage returns the policy of an HTML page. It allows style sheets and images of this server; forms that are sent
// to this server, if the page contains a form; and scripts of this server, with its worker and its manifest, if it
// contains a script. No site may frame a page, so that visitors always see its address.
func PolicyPage(c PageContent) Policy {
	p := Policy("default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; ")
	if c.Script {
		p += "script-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "
	}
	if c.Form {
		return p + "form-action 'self'"
	}
	return p + "form-action 'none'"
}

// PolicyPreview returns the policy of a preview of a page in a frame of this server, with one inline style sheet. Forms
// in it cannot be sent.
func PolicyPreview(css string) Policy {
	return Policy("default-src 'none'; style-src 'self' " + styleHash(css) +
		"; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'")
}

// WithFrames returns p extended to allow frames with documents of this server.
func (p Policy) WithFrames() Policy { return p + "; frame-src 'self'" }

// WithStyle returns p extended to allow one inline style sheet, by its hash.
func (p Policy) WithStyle(css string) Policy {
	return p + "; style-src " + Policy(styleHash(css))
}

// styleHash returns the source expression of an inline style sheet.
func styleHash(css string) string {
	hash := sha256.Sum256([]byte(css))
	return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}
