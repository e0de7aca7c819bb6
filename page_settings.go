package allswell

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The limits of how a page looks.
const (
	MaxFooterLinks       = 10
	MaxFooterLabelLength = 60                         // characters
	MaxDomainLength      = 253 - len(domainChallenge) // so that the name of its TXT record is not too long
	MaxImageSize         = 256 << 10                  // bytes of a logo or an icon
)

// DefaultTimeZone is a page's time zone until it is given another.
const DefaultTimeZone = "UTC"

// Wear puts on what is given of a look.
func (p *Page) ApplySettings(look PageSettings) {
	if look.TimeZone != nil {
		p.TimeZone = *look.TimeZone
	}
	if look.Language != nil {
		p.Language = *look.Language
	}
	if look.Domain != nil {
		p.Domain = *look.Domain
	}
	if look.Accent != nil {
		p.Accent = strings.ToLower(*look.Accent)
	}
	if look.Footer != nil {
		p.Footer = slices.Clone(*look.Footer)
	}
}

var (
	accentForm   = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
	languageForm = regexp.MustCompile(`^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3}$`)
	numberForm   = regexp.MustCompile(`^([0-9]+|0x[0-9a-f]*)$`) // as the last label it makes an IPv4 address
	labelForm    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// check names every bad field of the look. That the domain is free is for the
// store to say.
func (look PageSettings) check(bad *ValidationError) {
	if look.TimeZone != nil && !validZone(*look.TimeZone) {
		bad.Add("time_zone", "The time_zone must be the name of a time zone, such as Europe/Berlin or UTC.")
	}
	if look.Language != nil && *look.Language != "" && !languageForm.MatchString(*look.Language) {
		bad.Add("language", "The language must be a language tag, such as en or de.")
	}
	if look.Domain != nil && *look.Domain != "" && !ValidDomain(*look.Domain) {
		bad.Add("domain", "The domain must be a public host name in lower case, such as status.example.com, without a port, of at most %d characters.", MaxDomainLength)
	}
	if look.Accent != nil && *look.Accent != "" && !accentForm.MatchString(*look.Accent) {
		bad.Add("accent", "The accent must be a colour, such as #1b4f9c.")
	}
	if look.Footer != nil {
		checkFooter(bad, *look.Footer)
	}
}

// validZone takes the names of the time zone database. "Local" would be the
// host's.
func validZone(name string) bool {
	if name == "" || name == "Local" || len(name) > 64 {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// ValidDomain reports whether s is a host name as it stands in a Host header and
// may be public: lower case, labels of letters, digits and hyphens, with a dot. A
// name in another script is given in its ASCII form (xn--…). Addresses are not
// valid, in whatever form browsers read them (127.0.0.1, 127.1, 0x7f.1), nor are
// names under localhost.
func ValidDomain(s string) bool {
	labels := strings.Split(s, ".")
	last := labels[len(labels)-1]
	if len(s) > MaxDomainLength || len(labels) < 2 || last == "localhost" || numberForm.MatchString(last) {
		return false
	}
	return !slices.ContainsFunc(labels, func(l string) bool { return !labelForm.MatchString(l) })
}

func checkFooter(bad *ValidationError, links []FooterLink) {
	if len(links) > MaxFooterLinks {
		bad.Add("footer_links", "There may be at most %d footer links.", MaxFooterLinks)
		return
	}
	for i, l := range links {
		CheckText(bad, fmt.Sprintf("footer_links.%d.label", i), l.Label, MaxFooterLabelLength)
		if !validLink(l.URL) {
			bad.Add(fmt.Sprintf("footer_links.%d.url", i), "The url must be an http, https or mailto address.")
		}
	}
}

func validLink(s string) bool {
	u, err := url.Parse(s)
	if err != nil || len(s) > MaxURLLength {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" || u.Scheme == "mailto" && u.Opaque != ""
}

// ImageKind says what a page's picture is for.
type ImageKind string

// The kinds.
const (
	ImageLogo ImageKind = "logo"
	ImageIcon ImageKind = "icon"
)

// PageImage is a picture that a page shows: its logo, or its favicon.
type PageImage struct {
	Kind ImageKind
	Type string // its media type, one of ImageTypes
	Name string // moves with the contents
	Body []byte // at most MaxImageSize
}

// ImageTypes are the media types of pictures that are taken.
var ImageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml", "image/x-icon"}
