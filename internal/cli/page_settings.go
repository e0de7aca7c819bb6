package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/api"
)

// pageLook is embedded by the commands that say how a page looks and where it
// is.
type pageLook struct {
	TimeZone *string      `placeholder:"ZONE" help:"Time zone by which its days begin, such as Europe/Berlin. UTC until it is said."`
	Language *string      `placeholder:"TAG" xor:"language" help:"Language where none of a visitor's own is to be had: en, de or ar."`
	Domain   *string      `placeholder:"HOST" xor:"domain" help:"Host name at which it is served too, such as status.example.com."`
	Accent   *string      `placeholder:"COLOUR" xor:"accent" help:"Its colour, such as #1b4f9c."`
	Footer   []footerLink `name:"footer" sep:"none" xor:"footer" placeholder:"LABEL=URL" help:"A link at its foot; several are several flags."`
}

// add adds what is given to a request.
func (l pageLook) add(fields body) body {
	if len(l.Footer) > 0 {
		fields["footer_links"] = l.Footer
	}
	return fields.text("time_zone", l.TimeZone).text("language", l.Language).text("domain", l.Domain).text("accent", l.Accent)
}

// footerLink is a link on the command line.
type footerLink struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// UnmarshalText reads "Imprint=https://example.com/imprint".
func (l *footerLink) UnmarshalText(text []byte) error {
	var ok bool
	if l.Label, l.URL, ok = strings.Cut(string(text), "="); !ok {
		return errors.New("must be a label and an address, such as Imprint=https://example.com/imprint")
	}
	return nil
}

type pageSet struct {
	Page          string  `arg:"" name:"slug" help:"Slug of the page."`
	Name          *string `placeholder:"NAME" help:"Another name."`
	Slug          *string `placeholder:"SLUG" help:"Another slug. The page's address changes with it."`
	Description   *string `placeholder:"TEXT" xor:"description" help:"Another text under the name."`
	NoDescription bool    `xor:"description" help:"No text under the name."`
	pageLook
	NoLanguage bool   `xor:"language" help:"No language of its own: English."`
	NoDomain   bool   `xor:"domain" help:"No host name of its own."`
	NoAccent   bool   `xor:"accent" help:"No colour of its own."`
	NoFooter   bool   `xor:"footer" help:"No links at its foot."`
	Logo       string `placeholder:"FILE" xor:"logo" help:"File of its logo: PNG, JPEG, GIF, WebP or SVG, at most 256 KiB."`
	NoLogo     bool   `xor:"logo" help:"No logo."`
	Icon       string `placeholder:"FILE" xor:"icon" help:"File of its icon, which may be an ICO too."`
	NoIcon     bool   `xor:"icon" help:"No icon of its own."`
}

// Run reads the pictures before anything is changed, and sets them after the
// rest.
func (cmd *pageSet) Run(t *talk) error {
	images := []pageImage{
		{kind: allswell.ImageLogo, file: cmd.Logo, none: cmd.NoLogo}, {kind: allswell.ImageIcon, file: cmd.Icon, none: cmd.NoIcon},
	}
	pictures := false
	for i := range images {
		if err := images[i].read(); err != nil {
			return &usageError{err}
		}
		pictures = pictures || images[i].file != "" || images[i].none
	}
	fields := cmd.add(body{}.text("name", cmd.Name).text("slug", cmd.Slug)).
		textOrNull("description", cmd.Description, cmd.NoDescription)
	for name, clear := range map[string]bool{
		"language": cmd.NoLanguage, "domain": cmd.NoDomain, "accent": cmd.NoAccent, "footer_links": cmd.NoFooter,
	} {
		if clear {
			fields[name] = nil
		}
	}
	path := pathOf("pages", cmd.Page)
	var done []string
	if len(fields) > 0 || !pictures {
		raw, err := t.patch(path, fields)
		if err != nil {
			return err
		}
		if !pictures {
			return object(t.printer, raw, t.pageFacts)
		}
		done = append(done, "the page is changed")
		if cmd.Slug != nil {
			path = pathOf("pages", *cmd.Slug)
		}
	}
	for _, image := range images {
		set, err := t.setImage(path, image)
		if err != nil {
			if len(done) == 0 {
				return fmt.Errorf("the %s was not set: %w", image.kind, err)
			}
			return afterAll(fmt.Sprintf("%s, but the %s was not set", strings.Join(done, ", "), image.kind), err)
		}
		if set {
			done = append(done, fmt.Sprintf("the %s is changed", image.kind))
		}
	}
	raw, err := t.get(path)
	if err != nil {
		return err
	}
	return object(t.printer, raw, t.pageFacts)
}

// pageImage is what is to become of one of a page's pictures.
type pageImage struct {
	kind allswell.ImageKind
	file string // "": it stays, or goes
	none bool
	body []byte
}

func (i *pageImage) read() error {
	if i.file == "" {
		return nil
	}
	f, err := os.Open(i.file)
	if err != nil {
		return fmt.Errorf("the %s cannot be read: %w", i.kind, err)
	}
	defer f.Close()
	if i.body, err = io.ReadAll(io.LimitReader(f, allswell.MaxImageSize+1)); err != nil {
		return fmt.Errorf("the %s cannot be read: %w", i.kind, err)
	}
	if len(i.body) > allswell.MaxImageSize {
		return fmt.Errorf("the %s %s is larger than %d bytes", i.kind, i.file, allswell.MaxImageSize)
	}
	if _, err := api.ReadImage(i.kind, i.body); err != nil {
		return fmt.Errorf("the file %s cannot be the %s: it must be a picture, PNG, JPEG, GIF, WebP or SVG without a DOCTYPE, or ICO for an icon", i.file, i.kind)
	}
	return nil
}

// setImage sets or removes a picture, and reports whether that was asked for.
func (t *talk) setImage(page string, i pageImage) (asked bool, err error) {
	path := page + "/" + string(i.kind)
	switch {
	case i.none:
		_, err = t.api.call(t.ctx, "DELETE", path, nil)
	case i.file != "":
		_, err = t.upload(path, i.body)
	default:
		return false, nil
	}
	return true, err
}

type pageUptime struct {
	Page string `arg:"" name:"slug" help:"Slug of the page."`
	Days int    `default:"90" placeholder:"COUNT" help:"How many days, today included: at most 90."`
}

func (cmd *pageUptime) Run(t *talk) error {
	raw, err := t.get(pathOf("pages", cmd.Page, "uptime") + "?days=" + strconv.Itoa(cmd.Days))
	if err != nil {
		return err
	}
	return object(t.printer, raw, func(u apiUptime) {
		t.facts([2]string{"Page", cmd.Page}, [2]string{"Days", fmt.Sprintf("%d (%s)", u.Days, u.TimeZone)}, [2]string{"Uptime", percentWords(u.Uptime)})
		if len(u.Components) == 0 {
			return
		}
		rows := [][]string{{"COMPONENT", "UPTIME", "STATUS", "NAME"}}
		for _, c := range u.Components {
			rows = append(rows, []string{c.ID, percentWords(c.Uptime), statusWords(c.Status), c.Name})
		}
		t.printf("\n")
		t.columns(rows)
		if len(u.Groups) == 0 {
			return
		}
		rows = [][]string{{"GROUP", "UPTIME", "NAME"}}
		for _, g := range u.Groups {
			rows = append(rows, []string{g.ID, percentWords(g.Uptime), g.Name})
		}
		t.printf("\n")
		t.columns(rows)
	})
}

// percentWords writes an uptime for people.
func percentWords(p *float64) string {
	if p == nil {
		return "unknown"
	}
	return strconv.FormatFloat(*p, 'f', 3, 64) + " %"
}
