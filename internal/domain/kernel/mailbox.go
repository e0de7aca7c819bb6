package kernel

import "strings"

// mailProvider describes which addresses of a mail provider share a mailbox, besides those with a "+tag".
type mailProvider struct {
	domain  string // canonical domain; "": the address's own
	ignored string // characters that are ignored in the local part
	tag     string // character that starts a tag, besides "+"; "": none
}

var (
	gmail  = mailProvider{domain: "gmail.com", ignored: "."}
	proton = mailProvider{domain: "proton.me", ignored: ".-_"}
	yahoo  = mailProvider{tag: "-"} // account names have no hyphen: it starts a disposable address
)

var mailProviders = map[string]mailProvider{
	"gmail.com": gmail, "googlemail.com": gmail,
	"proton.me": proton, "protonmail.com": proton, "pm.me": proton,
	"yahoo.com": yahoo, "ymail.com": yahoo, "rocketmail.com": yahoo, "myyahoo.com": yahoo,
	"yahoo.co.uk": yahoo, "yahoo.de": yahoo, "yahoo.fr": yahoo, "yahoo.it": yahoo, "yahoo.es": yahoo, "yahoo.ca": yahoo,
	"yahoo.co.in": yahoo, "yahoo.in": yahoo, "yahoo.com.br": yahoo, "yahoo.com.au": yahoo, "yahoo.co.jp": yahoo,
}

// MailboxKey returns a key that is equal for addresses that most likely share a mailbox: the address in lower case,
// without the tag and without characters that the provider ignores. Rate limits of mail use it; it is not an address to
// send to or to store. Text that is not an address is returned in lower case.
func MailboxKey(address string) string {
	address = strings.ToLower(address)
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	local, domain := address[:at], address[at+1:]
	provider := mailProviders[domain]
	if i := strings.IndexAny(local, "+"+provider.tag); i > 0 {
		local = local[:i]
	}
	bare := strings.Map(func(r rune) rune {
		if strings.ContainsRune(provider.ignored, r) {
			return -1
		}
		return r
	}, local)
	if bare != "" {
		local = bare
	}
	if provider.domain != "" {
		domain = provider.domain
	}
	return local + "@" + domain
}
