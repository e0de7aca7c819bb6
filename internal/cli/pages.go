package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/allswell/allswell"
)

type pageCommands struct {
	clientSettings `embed:""`

	Create pageCreate `cmd:"" help:"Create a page."`
	List   pageList   `cmd:"" help:"List all pages."`
	Show   pageShow   `cmd:"" help:"Show a page with its components and open incidents."`
	Set    pageSet    `cmd:"" help:"Change a page: its name, where it is and how it looks."`
	Domain pageDomain `cmd:"" help:"Show whether a page's domain is verified, and the DNS record that proves it."`
	Uptime pageUptime `cmd:"" help:"Show the uptime of a page and its components."`
	Delete pageDelete `cmd:"" help:"Delete a page with all that is on it, and its monitors."`
}

type pageCreate struct {
	Name        string  `required:"" placeholder:"NAME" help:"Name of the page."`
	Slug        string  `placeholder:"SLUG" help:"Its part of the address: a-z, 0-9 and hyphens, at most 63. Made from the name if it is not given."`
	Description *string `placeholder:"TEXT" help:"Text under the name."`
	pageLook
}

func (cmd *pageCreate) Run(t *talk) error {
	if strings.TrimSpace(cmd.Name) == "" {
		return &usageError{errors.New("--name: a page needs a name")}
	}
	slug := cmd.Slug
	if slug == "" {
		slug = slugOf(cmd.Name)
	}
	if slug == "" {
		return &usageError{fmt.Errorf("no slug can be made from the name %q: give one with --slug", cmd.Name)}
	}
	raw, err := t.post(pathOf("pages"), cmd.add(body{"name": cmd.Name, "slug": slug}.text("description", cmd.Description)))
	if err != nil {
		return err
	}
	return object(t.printer, raw, t.sayPage)
}

// plain writes Latin letters that are no ASCII letter with a mark.
var plain = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i", "'", "", "’", "")

// slugOf makes a slug of a name: its Latin letters without their marks and its
// digits, in lower case, with hyphens between the words; "" if it has others,
// which would be lost.
func slugOf(name string) string {
	name = plain.Replace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ToLower(name))))
	lost := false
	words := strings.FieldsFunc(name, func(r rune) bool {
		word := unicode.IsLetter(r) || unicode.IsDigit(r)
		lost = lost || word && r > unicode.MaxASCII
		return !word
	})
	if lost {
		return ""
	}
	slug := strings.Join(words, "-")
	return strings.Trim(slug[:min(len(slug), 63)], "-")
}

func (t *talk) sayPage(page apiPage) {
	t.printf("The page %s is at %s\n", visible(page.Name), visible(page.URL))
}

// pageFacts says what a page is, but for what is on it.
func (t *talk) pageFacts(page apiPage) {
	domain := "none"
	if page.Domain != nil {
		domain = "https://" + *page.Domain
		if status := orEmpty(page.DomainStatus); status != "" && status != string(allswell.DomainVerified) {
			domain = fmt.Sprintf("%s (%s: see allswell page domain %s)", *page.Domain, status, page.Slug)
		}
	}
	facts := [][2]string{{"Page", page.Name}, {"Slug", page.Slug}, {"Status", statusWords(page.Status)},
		{"Description", orEmpty(page.Description)}, {"Address", page.URL},
		{"Own domain", domain}, {"Time zone", page.TimeZone}, {"Language", orNone(page.Language)},
		{"Accent", orNone(page.Accent)}, {"Logo", orNone(page.Logo)}, {"Icon", orNone(page.Icon)}}
	for _, l := range page.FooterLinks {
		facts = append(facts, [2]string{"Footer", l.Label + ": " + l.URL})
	}
	t.facts(append(facts, [2]string{"Created", when(page.CreatedAt)})...)
}

type pageList struct{ listing }

func (cmd *pageList) Run(t *talk) error {
	pages, total, err := t.api.list(t.ctx, pathOf("pages"), int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(t.printer, pages, total, "No pages yet.", []string{"SLUG", "STATUS", "NAME"}, func(page apiPage) []string {
		return []string{page.Slug, statusWords(page.Status), page.Name}
	})
}

type pageShow struct {
	Page string `arg:"" name:"slug" help:"Slug of the page."`
}

func (cmd *pageShow) Run(t *talk) error {
	raw, err := t.get(pathOf("pages", cmd.Page))
	if err != nil {
		return err
	}
	if t.json {
		return t.raw(raw)
	}
	page, err := decode[apiPage](raw)
	if err != nil {
		return err
	}
	components, all, err := t.api.list(t.ctx, pathOf("pages", page.Slug, "components"), 100)
	if err != nil {
		return err
	}
	incidents, open, err := t.api.list(t.ctx, pathOf("pages", page.Slug, "incidents")+"?resolved=false", 100)
	if err != nil {
		return err
	}
	t.pageFacts(page)
	t.printf("\n")
	if err := table(t.printer, components, all, "No components yet.", componentHeader, componentRow); err != nil {
		return err
	}
	t.printf("\n")
	return table(t.printer, incidents, open, "No open incidents.", incidentHeader, incidentRow)
}

type pageDelete struct {
	Page string `arg:"" name:"slug" help:"Slug of the page."`
	Yes  bool   `help:"Yes, with all that is on it. Without it nothing is deleted, and it is said what would be."`
}

func (cmd *pageDelete) Run(t *talk) error {
	if !cmd.Yes {
		return t.askBeforeDeleting(cmd.Page)
	}
	return t.remove(pathOf("pages", cmd.Page), "page", cmd.Page)
}

// askBeforeDeleting returns an error that says what would go with the page.
func (t *talk) askBeforeDeleting(slug string) error {
	if _, err := read[apiPage](t.ctx, t.api, pathOf("pages", slug)); err != nil {
		return err
	}
	var parts []string
	count := func(noun string, n int) {
		if n > 1 {
			noun += "s"
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, noun))
		}
	}
	for _, noun := range []string{"component", "group", "incident", "maintenance", "subscriber"} {
		_, n, err := t.api.list(t.ctx, pathOf("pages", slug, noun+"s"), 1)
		if err != nil {
			return err
		}
		count(noun, n)
	}
	monitors, err := t.monitorsOf(slug)
	if err != nil {
		return err
	}
	count("monitor", len(monitors))
	what := "nothing is on it"
	switch last := len(parts) - 1; {
	case last == 0:
		what = parts[0] + " would go with it"
	case last > 0:
		what = strings.Join(parts[:last], ", ") + " and " + parts[last] + " would go with it"
	}
	return &usageError{fmt.Errorf("the page %s is not deleted: %s, and nothing brings it back; if that is meant, add --yes", visible(slug), what)}
}
