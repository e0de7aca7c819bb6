package check

import (
	"crypto/tls"
	"fmt"
	"math"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// maxExpiryDays is the largest number of days before the expiry of a certificate that fields accept.
const maxExpiryDays = 365

var (
	warnDaysField = Field{
		Name: "warn_days", Label: "Warn before expiry",
		Help: "Days before a certificate expires at which the check warns.",
		Kind: configfield.KindInteger, Advanced: true, Min: 0, Max: maxExpiryDays, Default: "21",
	}
	downDaysField = Field{
		Name: "down_days", Label: "Fail before expiry",
		Help: "Days before a certificate expires at which the check fails.",
		Kind: configfield.KindInteger, Advanced: true, Min: 0, Max: maxExpiryDays, Default: "0",
	}
)

// expiry has the fields of checks that look at certificates.
type expiry struct {
	WarnDays int `json:"warn_days"`
	DownDays int `json:"down_days"`
}

var defaultTLS = tlsOptions{expiry: expiry{WarnDays: 21}}

func (e expiry) check(bad *kernel.ValidationError) {
	if e.WarnDays != 0 && e.DownDays > e.WarnDays {
		bad.Add("down_days", "may not be more than the %s", kernel.Name("warn_days"))
	}
}

// judgeExpiry adds a failure or a warning to the outcome of a working target if one of its certificates expires soon.
func (e expiry) judgeExpiry(o *Outcome, now time.Time) {
	if o.CertificateExpiresAt.IsZero() {
		return
	}
	left := o.CertificateExpiresAt.Sub(now)
	switch {
	case left <= 0:
		o.Failure = "the certificate expired on " + day(o.CertificateExpiresAt)
	case left < time.Duration(e.DownDays)*24*time.Hour:
		o.Failure = "the certificate expires " + inDays(left)
	case left < time.Duration(e.WarnDays)*24*time.Hour:
		o.Warning = "the certificate expires " + inDays(left)
	}
}

// inDays formats the time until something happens, such as "in 3 days".
func inDays(left time.Duration) string {
	switch days := int(math.Floor(left.Hours() / 24)); days {
	case 0:
		return "in less than a day"
	case 1:
		return "in 1 day"
	default:
		return fmt.Sprintf("in %d days", days)
	}
}

// firstExpiry returns the earliest expiry of the certificates of the verified chain without its root, or, if nothing
// was verified, of the certificates that the target sent.
func firstExpiry(s tls.ConnectionState) time.Time {
	chain := s.PeerCertificates
	if len(s.VerifiedChains) > 0 {
		chain = s.VerifiedChains[0]
		if len(chain) > 1 {
			chain = chain[:len(chain)-1]
		}
	}
	var first time.Time
	for _, c := range chain {
		if first.IsZero() || c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	return first
}
