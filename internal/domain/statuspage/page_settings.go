package statuspage

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/hostname"
)

// Limits of page settings.
const (
	MaxFooterLinks       = 10
	MaxFooterLabelLength = 60                         // characters
	MaxDomainLength      = 253 - len(domainChallenge) // the name of its TXT record has at most 253 characters
	MaxImageSize         = 256 << 10                  // bytes
)

// DefaultTimeZone is the time zone of a new page.
const DefaultTimeZone = "UTC"

// DefaultLanguage returns the language of messages, and of visitors whose languages are not offered: Language if it is
// offered, or else the first language that is. "" is English.
func (p Page) DefaultLanguage() string {
	primary, _, _ := strings.Cut(cmp.Or(strings.ToLower(p.Language), "en"), "-")
	if len(p.Languages) == 0 || slices.Contains(p.Languages, primary) {
		return p.Language
	}
	return p.Languages[0]
}

// Visibility decides who can see a page.
type Visibility string

// The values of Visibility.
const (
	VisibilityPublic   Visibility = "public"   // everybody
	VisibilityUnlisted Visibility = "unlisted" // anyone with the URL; not in lists and search engines
	VisibilityPrivate  Visibility = "private"  // clients with a token of the workspace, and visitors by PageAccess
)

// Visibilities lists all valid values.
var Visibilities = []Visibility{VisibilityPublic, VisibilityUnlisted, VisibilityPrivate}

var (
	numberForm = regexp.MustCompile(`^([0-9]+|0x[0-9a-f]*)$`) // a host name with such a last label is an IPv4 address
	labelForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// ASCIIDomain returns a domain as browsers send it. A domain without an ASCII form is returned unchanged, and is not
// valid.
func ASCIIDomain(domain string) string {
	ascii, _ := hostname.ASCII(domain)
	return ascii
}

// ValidDomain reports whether s is a host name that can be public, in the form of a Host header: lower case, with at
// least two labels of letters, digits and hyphens. Internationalized names are in ASCII (xn--…). IP addresses are not
// valid in any notation that browsers accept (127.0.0.1, 127.1, 0x7f.1), and neither are names under localhost.
func ValidDomain(s string) bool {
	labels := strings.Split(s, ".")
	last := labels[len(labels)-1]
	if len(s) > MaxDomainLength || len(labels) < 2 || last == "localhost" || numberForm.MatchString(last) {
		return false
	}
	return !slices.ContainsFunc(labels, func(l string) bool { return !labelForm.MatchString(l) })
}

// CheckFooterLinks adds the errors of links in the footer of a page.
func CheckFooterLinks(bad *kernel.ValidationError, links []FooterLink) {
	for i, l := range links {
		var label kernel.ValidationError
		field := fmt.Sprintf("footer_links.%d.label", i)
		kernel.CheckLine(&label, field, l.Label, MaxFooterLabelLength)
		for _, p := range label.Problems { // the message names the whole path of a label
			bad.Add(field, "The %s "+p.Code+".", append([]any{kernel.Name(field)}, p.Args...)...)
		}
		if !validLink(l.URL) {
			bad.Add(fmt.Sprintf("footer_links.%d.url", i), "must be an http, https or mailto address")
		}
	}
}

func validLink(s string) bool {
	u, err := url.Parse(s)
	if err != nil || len(s) > kernel.MaxURLLength {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" || u.Scheme == "mailto" && u.Opaque != ""
}

// ImageKind is the purpose of a page's image.
type ImageKind string

// The kinds.
const (
	ImageLogo     ImageKind = "logo"
	ImageLogoDark ImageKind = "logo_dark" // for dark pages and mails
	ImageIcon     ImageKind = "icon"
)

// ImageKinds lists all kinds.
var ImageKinds = []ImageKind{ImageLogo, ImageLogoDark, ImageIcon}

// Label returns the English name: "dark logo".
func (k ImageKind) Label() string {
	if k == ImageLogoDark {
		return "dark logo"
	}
	return string(k)
}

// PageImage is a logo or the icon of a page.
type PageImage struct {
	Kind ImageKind
	Type string // media type, one of ImageTypes
	Name string // depends on the contents, so that a URL with it can be cached forever
	Body []byte // at most MaxImageSize bytes
}

// ImageTypes lists the accepted media types of images.
var ImageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml", "image/x-icon"}
