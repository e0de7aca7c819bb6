package main

import (
	"encoding/json"
	"fmt"

	"github.com/allswell/allswell"
)

type apiDomain struct {
	Domain, Status *string
	Record         *struct{ Type, Name, Value string }
	LastResult     *string `json:"last_result"`
	LastCheckAt    *string `json:"last_check_at"`
	NextCheckAt    *string `json:"next_check_at"`
	VerifiedAt     *string `json:"verified_at"`
	ReleaseAt      *string `json:"release_at"`
}

type pageDomain struct {
	Page   string `arg:"" name:"slug" help:"Slug of the page."`
	Verify bool   `help:"Check the DNS record now. Fails unless the domain is verified then."`
}

// Run prints the state of a page's claim to its domain.
func (cmd *pageDomain) Run(t *talk) error {
	fetch := t.get
	if cmd.Verify {
		fetch = func(path string) (json.RawMessage, error) { return t.post(path+"/verify", nil) }
	}
	raw, err := fetch(pathOf("pages", cmd.Page, "domain"))
	if err != nil {
		return err
	}
	if err := object(t.printer, raw, t.domainFacts); err != nil || !cmd.Verify {
		return err
	}
	d, err := decode[apiDomain](raw)
	if err == nil && orEmpty(d.Status) != string(allswell.DomainVerified) {
		err = fmt.Errorf("the domain %s is not verified", visible(orEmpty(d.Domain)))
	}
	return err
}

// domainWords explain the statuses of domains.
var domainWords = map[string]string{
	string(allswell.DomainVerified): "verified: the page is served there",
	string(allswell.DomainFailing):  "failing: the page is served there, but the TXT record is missing",
	string(allswell.DomainPending):  "pending: the page is served there once the TXT record is found",
	string(allswell.DomainDisabled): "disabled: no base URL is set, or the domain is a name of the installation itself",
}

// resultWords explain the results of checks.
var resultWords = map[string]string{
	string(allswell.DomainFound):       "the TXT record was found",
	string(allswell.DomainMissing):     "the TXT record was not found",
	string(allswell.DomainNoAnswer):    "the DNS did not answer; nothing changes because of it",
	string(allswell.DomainUsedByOther): "the TXT record was found, but another page is served at the domain",
}

// words returns the explanation of a word of the API; one that is not known
// explains itself.
func words(of map[string]string, word *string) string {
	if text, ok := of[orEmpty(word)]; ok {
		return text
	}
	return orEmpty(word)
}

func (t *talk) domainFacts(d apiDomain) {
	at := func(instant *string) string {
		if instant == nil {
			return ""
		}
		return when(*instant)
	}
	facts := [][2]string{{"Domain", orNone(d.Domain)}, {"Status", words(domainWords, d.Status)}, {"Verified", at(d.VerifiedAt)}}
	if d.Record != nil {
		facts = append(facts, [2]string{"TXT record", d.Record.Name}, [2]string{"Value", d.Record.Value})
	} else if d.Domain != nil {
		facts = append(facts, [2]string{"TXT record", "not needed"})
	}
	if last := at(d.LastCheckAt); last != "" {
		facts = append(facts, [2]string{"Last check", last + ": " + words(resultWords, d.LastResult)})
	}
	t.facts(append(facts, [2]string{"Next check", at(d.NextCheckAt)}, [2]string{"Released", at(d.ReleaseAt)})...)
}
