package cli

import (
	"fmt"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/shared/optional"
)

type pageDomain struct {
	optionalPage
	Verify bool `help:"Check the DNS now, and fail unless the domain is then verified."`
}

func (cmd *pageDomain) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	var domain *client.PageDomain
	var err error
	if cmd.Verify {
		domain, err = c.api.VerifyDomain(c.Ctx, cmd.Page)
	} else {
		domain, err = c.api.GetDomain(c.Ctx, cmd.Page)
	}
	if err := object(c, domain, err, c.printDomain); err != nil {
		return err
	}
	if cmd.Verify && optional.Value(domain.Status) != client.DomainVerified {
		return fmt.Errorf("the domain %s is not verified", console.Visible(optional.Value(domain.Domain)))
	}
	return nil
}

// domainStatusTexts explain the statuses of domains.
var domainStatusTexts = map[client.DomainStatus]string{
	client.DomainVerified: "verified: the page is served there",
	client.DomainFailing:  "failing: the page is served there, but the TXT record is missing",
	client.DomainPending:  "pending: the page is served there once the TXT record is found",
	client.DomainDisabled: "disabled: no base URL is set, or the domain is a host name of the installation itself",
}

// domainResultTexts explain the results of DNS checks.
var domainResultTexts = map[client.DomainResult]string{
	client.DomainFound:       "the TXT record was found",
	client.DomainMissing:     "the TXT record was not found",
	client.DomainNoAnswer:    "the DNS did not answer, which changes nothing",
	client.DomainUsedByOther: "the TXT record was found, but another page is served at the domain",
}

// textOf returns the explanation of a value of the API, or the value if it is not known.
func textOf[T ~string](texts map[T]string, word *T) string {
	if text, ok := texts[optional.Value(word)]; ok {
		return text
	}
	return string(optional.Value(word))
}

func (c *commandContext) printDomain(d *client.PageDomain) {
	properties := [][2]string{
		{"Domain", textOrNone(d.Domain)}, {"Status", textOf(domainStatusTexts, d.Status)},
		{"Verified", timeOr(d.VerifiedAt, "")},
	}
	if d.Record != nil {
		properties = append(properties, [2]string{"TXT record", d.Record.Name}, [2]string{"Value", d.Record.Value})
	} else if d.Domain != nil {
		properties = append(properties, [2]string{"TXT record", "not needed"})
	}
	if d.LastCheckAt != nil {
		properties = append(properties, [2]string{
			"Last check", console.Time(*d.LastCheckAt) + ": " + textOf(domainResultTexts, d.LastResult),
		})
	}
	if d.Lookup != nil {
		properties = append(properties, [2]string{"DNS", d.Lookup.Message}, [2]string{
			"Looked up", console.Time(d.Lookup.CheckedAt),
		})
	}
	c.Properties(append(properties, [2]string{
		"Next check", timeOr(d.NextCheckAt, ""),
	}, [2]string{"Released", timeOr(d.ReleaseAt, "")})...)
}
