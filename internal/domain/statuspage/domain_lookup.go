package statuspage

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

const (
	// DomainLookupTimeout is the maximum duration of a lookup of a domain's addresses.
	DomainLookupTimeout = 5 * time.Second

	// MaxLookupAddresses is the maximum number of addresses of one name that a DomainLookup has.
	MaxLookupAddresses = 16
)

// DomainLookupResult says where a page's domain points to.
type DomainLookupResult string

// The results of lookups.
const (
	LookupMatch     DomainLookupResult = "match"     // to the installation
	LookupPartial   DomainLookupResult = "partial"   // to the installation, and to something else
	LookupElsewhere DomainLookupResult = "elsewhere" // to something else
	// to private addresses, although the installation has public ones
	LookupPrivate  DomainLookupResult = "private"
	LookupNotFound DomainLookupResult = "not_found" // nowhere: the name has no address
	LookupTimeout  DomainLookupResult = "timeout"   // the DNS did not answer in time
	LookupFailed   DomainLookupResult = "failed"    // the DNS answered with an error
	// the host of the base URL has no known address to compare with
	LookupUnknownHost DomainLookupResult = "unknown_host"
)

// DomainLookupResults lists the results of lookups.
var DomainLookupResults = []DomainLookupResult{
	LookupMatch, LookupPartial, LookupElsewhere, LookupPrivate, LookupNotFound, LookupTimeout, LookupFailed,
	LookupUnknownHost,
}

// ResolvedHost is the answer of the DNS for a host name.
type ResolvedHost struct {
	Name      string
	CNAME     string // the last name of the chain of CNAME records; "": none, or unknown
	Addresses []netip.Addr
	Failure   DomainLookupResult // LookupNotFound, LookupTimeout or LookupFailed; "": there are addresses
}

// canonical returns the name that has the addresses.
func (h ResolvedHost) canonical() string {
	if h.CNAME != "" {
		return h.CNAME
	}
	return h.Name
}

// DomainLookup compares where a page's domain points to with the host of the base URL. Addresses are sorted.
type DomainLookup struct {
	CheckedAt     time.Time
	Result        DomainLookupResult
	Domain        string
	CNAME         string // the last name of the domain's chain of CNAME records; "": none
	Addresses     []netip.Addr
	Host          string // of the base URL
	HostAddresses []netip.Addr
}

// NewDomainLookup compares the answers for a domain and for the host of the base URL. The domain points to the
// installation if both names end in the same one, or if the host has all its addresses. Private addresses are omitted
// unless the host has such addresses too, so that a domain reveals nothing about the network of the installation.
func NewDomainLookup(domain, host ResolvedHost) DomainLookup {
	l := DomainLookup{
		Domain: domain.Name, CNAME: domain.CNAME, Host: host.Name, HostAddresses: lookupAddresses(host.Addresses),
	}
	others := slices.DeleteFunc(slices.Clone(domain.Addresses), func(a netip.Addr) bool {
		return slices.Contains(host.Addresses, a)
	})
	shown := domain.Addresses
	if !slices.ContainsFunc(host.Addresses, isPrivate) {
		shown = slices.DeleteFunc(slices.Clone(shown), isPrivate)
	}
	l.Addresses = lookupAddresses(shown)
	switch {
	case domain.Failure != "":
		l.Result = domain.Failure
	case host.Failure == "" && domain.canonical() == host.canonical(), host.Failure == "" && len(others) == 0:
		l.Result = LookupMatch
	case len(shown) == 0:
		l.Result = LookupPrivate
	case host.Failure != "":
		l.Result = LookupUnknownHost
	case len(others) < len(domain.Addresses):
		l.Result = LookupPartial
	default:
		l.Result = LookupElsewhere
	}
	return l
}

// lookupAddresses returns the addresses in order, and not more than MaxLookupAddresses.
func lookupAddresses(addresses []netip.Addr) []netip.Addr {
	sorted := slices.Compact(slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare))
	return sorted[:min(len(sorted), MaxLookupAddresses)]
}

func isPrivate(a netip.Addr) bool { return !a.IsGlobalUnicast() || a.IsPrivate() }

// Message says in one or two sentences where the domain points to and, unless that is the installation, what to change.
func (l DomainLookup) Message() string {
	switch l.Result {
	case LookupMatch:
		return fmt.Sprintf("%s points to this installation%s.", l.Domain, inBrackets(l.Addresses))
	case LookupPartial:
		wrong := slices.DeleteFunc(slices.Clone(l.Addresses), func(a netip.Addr) bool {
			return slices.Contains(l.HostAddresses, a)
		})
		what := "a private address"
		if len(wrong) > 0 {
			what = joined(wrong)
		}
		return fmt.Sprintf("%s points to %s, but also to %s. Remove that record, or pass Host on from the proxy that "+
			"answers there.", l.Domain, l.hostText(), what)
	case LookupElsewhere:
		return fmt.Sprintf("%s points to %s, not to %s. Change the record: %s. Or pass Host on from the proxy that "+
			"answers there.",
			l.Domain, l.domainText(), l.hostText(), l.advice())
	case LookupPrivate:
		return fmt.Sprintf("%s points to a private address, which visitors cannot reach. Change the record: %s.",
			l.Domain, l.advice())
	case LookupNotFound:
		if l.CNAME != "" {
			return fmt.Sprintf("%s is a CNAME of %s, which has no address in the DNS. Change the record: %s.", l.Domain,
				l.CNAME, l.advice())
		}
		return fmt.Sprintf("%s has no address in the DNS. Add a record: %s.", l.Domain, l.advice())
	case LookupTimeout:
		return fmt.Sprintf("The DNS did not answer within %d seconds for %s. Try again. If it happens again, check "+
			"the name servers of the domain.", int(DomainLookupTimeout/time.Second), l.Domain)
	case LookupFailed:
		return fmt.Sprintf("The DNS answered with an error for %s. Check the name servers of the domain.", l.Domain)
	case LookupUnknownHost:
		return fmt.Sprintf("%s points to %s. Whether that is this installation is unknown: the DNS has no address of "+
			"%s, the host of ALLSWELL_BASE_URL.", l.Domain, l.domainText(), l.Host)
	}
	return ""
}

// advice returns the records that make the domain point to the host.
func (l DomainLookup) advice() string {
	var records []string
	if _, err := netip.ParseAddr(l.Host); err != nil {
		records = append(records, "CNAME "+l.Host)
	}
	for _, a := range l.HostAddresses {
		kind := "AAAA "
		if a.Is4() {
			kind = "A "
		}
		records = append(records, kind+a.String())
	}
	if len(records) > 2 {
		return records[0] + ", or " + strings.Join(records[1:], " and ")
	}
	return strings.Join(records, ", or ")
}

func (l DomainLookup) domainText() string {
	if l.CNAME == "" {
		return joined(l.Addresses)
	}
	return l.CNAME + inBrackets(l.Addresses)
}

func (l DomainLookup) hostText() string {
	if _, err := netip.ParseAddr(l.Host); err == nil {
		return l.Host
	}
	return l.Host + inBrackets(l.HostAddresses)
}

func inBrackets(addresses []netip.Addr) string {
	if len(addresses) == 0 {
		return ""
	}
	return " (" + joined(addresses) + ")"
}

func joined(addresses []netip.Addr) string {
	texts := make([]string, len(addresses))
	for i, a := range addresses {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", ")
}
