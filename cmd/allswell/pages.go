package main

import (
	"fmt"
	"strings"
	"unicode"
)

type pageCommands struct {
	clientSettings `embed:""`

	Create pageCreate `cmd:"" help:"Create a page."`
	List   pageList   `cmd:"" help:"List all pages."`
	Show   pageShow   `cmd:"" help:"Show a page with its components and open incidents."`
	Set    pageSet    `cmd:"" help:"Change a page: its name, where it is and how it looks."`
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

// slugOf makes a slug of a name: its ASCII letters and digits, in lower case,
// with hyphens between the words.
func slugOf(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	slug := strings.Join(words, "-")
	return strings.Trim(slug[:min(len(slug), 63)], "-")
}

func (t *talk) sayPage(page apiPage) {
	t.printf("The page %s is at %s/status/%s\n", visible(page.Name), t.api.base, visible(page.Slug))
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
	t.facts([2]string{"Page", page.Name}, [2]string{"Slug", page.Slug}, [2]string{"Status", statusWords(page.Status)},
		[2]string{"Description", orEmpty(page.Description)}, [2]string{"Address", t.api.base + "/status/" + page.Slug},
		[2]string{"Domain", orEmpty(page.Domain)}, [2]string{"Time zone", page.TimeZone}, [2]string{"Language", orEmpty(page.Language)},
		[2]string{"Accent", orEmpty(page.Accent)},
		[2]string{"Created", when(page.CreatedAt)})
	t.printf("\n")
	if err := table(t.printer, components, all, "No components yet.", componentHeader, componentRow); err != nil {
		return err
	}
	t.printf("\n")
	return table(t.printer, incidents, open, "No open incidents.", incidentHeader, incidentRow)
}

type pageDelete struct {
	Page string `arg:"" name:"slug" help:"Slug of the page."`
}

func (cmd *pageDelete) Run(t *talk) error {
	return t.remove(pathOf("pages", cmd.Page), "page", cmd.Page)
}
