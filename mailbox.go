package allswell

import "strings"

// mailProvider says which addresses of a mail provider lead to one mailbox,
// besides those with a "+tag".
type mailProvider struct {
	domain  string // the domain that stands for all of the provider's; "": the address's own
	ignored string // characters that the provider ignores in the local part
	tag     string // what begins a tag, besides "+"; "": nothing
}

var (
	gmail  = mailProvider{domain: "gmail.com", ignored: "."}
	proton = mailProvider{domain: "proton.me", ignored: ".-_"}
	yahoo  = mailProvider{tag: "-"} // names of accounts have no hyphen: it begins a disposable address
)

var mailProviders = map[string]mailProvider{
	"gmail.com": gmail, "googlemail.com": gmail,
	"proton.me": proton, "protonmail.com": proton, "pm.me": proton,
	"yahoo.com": yahoo, "ymail.com": yahoo, "rocketmail.com": yahoo, "myyahoo.com": yahoo,
	"yahoo.co.uk": yahoo, "yahoo.de": yahoo, "yahoo.fr": yahoo, "yahoo.it": yahoo, "yahoo.es": yahoo, "yahoo.ca": yahoo,
	"yahoo.co.in": yahoo, "yahoo.in": yahoo, "yahoo.com.br": yahoo, "yahoo.com.au": yahoo, "yahoo.co.jp": yahoo,
}

// Mailbox returns a name for the mailbox that an e-mail address most likely
// leads to, by which rates of mail are limited: in lower case, without the tag
// of a local part, and without what the mail provider ignores. It is not an
// address to send to and must not be stored as one. It returns text that is no
// address in lower case.
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
