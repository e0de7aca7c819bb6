package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/console"
)

// pageSettings is embedded by the commands that set a page's address and appearance.
type pageSettings struct {
	TimeZone *string      `placeholder:"ZONE" help:"Time zone in which the page's days begin, such as Europe/Berlin. UTC by default."`
	Language *string      `placeholder:"en|de|ar" xor:"language" help:"Language of mails, and for visitors whose own languages are not available: en, de or ar."`
	Domain   *string      `placeholder:"HOST" xor:"domain" help:"Host name at which the page is also served, such as status.example.com."`
	Accent   *string      `placeholder:"COLOUR" xor:"accent" help:"Colour, such as #1b4f9c."`
	Footer   []footerLink `name:"footer" sep:"none" xor:"footer" placeholder:"LABEL=URL" help:"Link at the foot of the page; repeatable."`

	AutoIncidents *allswell.AutoIncidents `placeholder:"MODE" help:"Incidents of monitors that go down: publish (the default), draft (a person publishes them) or off."`
	Visibility    *allswell.Visibility    `placeholder:"WHO" help:"Who can see the page: public (the default), unlisted (everybody who has its address) or private (clients with a token, and visitors allowed by allswell page access)."`
	Home          *bool                   `negatable:"" help:"Whether it is the page at / of the service, instead of the first public page. If several workspaces have one, / shows that of the oldest."`

	ResponseTimes  *bool `negatable:"" help:"Whether the pages of components show how long the checks of their monitors took. They do not by default."`
	WebhookSignUps *bool `negatable:"" help:"Whether visitors can subscribe webhooks, chats and phones. They can by default."`

	Languages []string `name:"offer-language" sep:"none" xor:"languages" placeholder:"TAG" help:"Language that visitors are offered: en, de or ar; repeatable. All by default."`
	CustomCSS string   `name:"css" xor:"css" placeholder:"FILE" help:"File of a style sheet for the page, at most 20,000 bytes. It cannot load anything."`
}

// css returns the style sheet in the file, or nil if there is none.
func (s pageSettings) css() (*string, error) {
	if s.CustomCSS == "" {
		return nil, nil
	}
	f, err := os.Open(s.CustomCSS)
	if err != nil {
		return nil, &console.UsageError{Err: err}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, allswell.MaxCustomCSS+1))
	switch {
	case err != nil:
		return nil, &console.UsageError{Err: err}
	case len(text) > allswell.MaxCustomCSS:
		return nil, console.UsageErrorf("--css: %s has more than %d bytes", s.CustomCSS, allswell.MaxCustomCSS)
	}
	return new(string(text)), nil
}

func (s pageSettings) links() (links []client.FooterLink) {
	for _, l := range s.Footer {
		links = append(links, client.FooterLink(l))
	}
	return links
}

// newPage returns the description of a page with the settings.
func (s pageSettings) newPage(name, slug string, description *string) (client.NewPage, error) {
	css, err := s.css()
	return client.NewPage{
		Name: name, Slug: slug, Description: description,
		TimeZone: s.TimeZone, Language: s.Language, Domain: s.Domain, Accent: s.Accent, FooterLinks: s.links(),
		AutoIncidents: s.AutoIncidents, Visibility: s.Visibility, Home: s.Home, WebhookSignUps: s.WebhookSignUps, ResponseTimes: s.ResponseTimes,
		Languages: s.Languages, CustomCSS: css,
	}, err
}

// footerLink is a link on the command line.
type footerLink client.FooterLink

// UnmarshalText parses "Imprint=https://example.com/imprint".
func (l *footerLink) UnmarshalText(text []byte) error {
	var ok bool
	if l.Label, l.URL, ok = strings.Cut(string(text), "="); !ok {
		return errors.New("must be a label and a URL, such as Imprint=https://example.com/imprint")
	}
	return nil
}

type pageEdit struct {
	optionalPage
	Name          *string `placeholder:"NAME" help:"New name."`
	Slug          *string `placeholder:"SLUG" help:"New slug. It changes the page's URL."`
	Description   *string `placeholder:"TEXT" xor:"description" help:"New text below the name."`
	NoDescription bool    `xor:"description" help:"Remove the text below the name."`
	pageSettings
	NoLanguage  bool   `xor:"language" help:"Use the default language, English."`
	NoDomain    bool   `xor:"domain" help:"Remove the page's own host name."`
	NoAccent    bool   `xor:"accent" help:"Use the default colour."`
	NoFooter    bool   `xor:"footer" help:"Remove the links at the foot of the page."`
	NoLanguages bool   `name:"offer-all-languages" xor:"languages" help:"Offer visitors all languages."`
	NoCSS       bool   `name:"no-css" xor:"css" help:"Remove the style sheet of the page."`
	Logo        string `placeholder:"FILE" xor:"logo" help:"File of the logo: PNG, JPEG, GIF, WebP or SVG, at most 256 KiB."`
	NoLogo      bool   `xor:"logo" help:"Remove the logo."`
	LogoDark    string `placeholder:"FILE" xor:"logo-dark" help:"File of the logo for dark pages and mails: like a logo."`
	NoLogoDark  bool   `xor:"logo-dark" help:"Also use the logo on dark pages and in dark mails."`
	Icon        string `placeholder:"FILE" xor:"icon" help:"File of the icon: like a logo, or ICO."`
	NoIcon      bool   `xor:"icon" help:"Use the default icon."`
}

func (cmd *pageEdit) change() (client.PageChange, error) {
	css, err := cmd.css()
	change := client.PageChange{
		Name: cmd.Name, Slug: cmd.Slug, Description: nullable(cmd.Description, cmd.NoDescription), TimeZone: cmd.TimeZone,
		Language: nullable(cmd.Language, cmd.NoLanguage), Domain: nullable(cmd.Domain, cmd.NoDomain), Accent: nullable(cmd.Accent, cmd.NoAccent),
		AutoIncidents: cmd.AutoIncidents, Visibility: cmd.Visibility, Home: cmd.Home, WebhookSignUps: cmd.WebhookSignUps, ResponseTimes: cmd.ResponseTimes, CustomCSS: nullable(css, cmd.NoCSS),
	}
	switch {
	case cmd.NoLanguages:
		change.Languages = client.Null[[]string]()
	case len(cmd.Languages) > 0:
		change.Languages = client.Set(cmd.Languages)
	}
	switch {
	case cmd.NoFooter:
		change.FooterLinks = client.Null[[]client.FooterLink]()
	case len(cmd.Footer) > 0:
		change.FooterLinks = client.Set(cmd.links())
	}
	return change, err
}

// Run reads the image files before it changes anything. It changes the page first, then the images.
func (cmd *pageEdit) Run(c *commandContext) error {
	images := []imageChange{
		{kind: allswell.ImageLogo, file: cmd.Logo, remove: cmd.NoLogo},
		{kind: allswell.ImageLogoDark, file: cmd.LogoDark, remove: cmd.NoLogoDark},
		{kind: allswell.ImageIcon, file: cmd.Icon, remove: cmd.NoIcon},
	}
	withImages := false
	for i := range images {
		if err := images[i].read(); err != nil {
			return &console.UsageError{Err: err}
		}
		withImages = withImages || images[i].file != "" || images[i].remove
	}
	change, err := cmd.change()
	if err != nil {
		return err
	}
	if err := checkNotEmpty(change); err != nil && !withImages {
		return err
	}
	if err := cmd.choose(c); err != nil {
		return err
	}
	slug := cmd.Page
	var done []string
	if checkNotEmpty(change) == nil {
		page, err := c.api.ChangePage(c.Ctx, slug, change)
		if err != nil || !withImages {
			return object(c, page, err, c.printPage)
		}
		done = append(done, "the page is changed")
		if cmd.Slug != nil {
			slug = *cmd.Slug
		}
	}
	for _, image := range images {
		set, err := c.setImage(slug, image)
		switch {
		case err != nil && len(done) > 0:
			return after(fmt.Sprintf("%s, but the %s was not set", strings.Join(done, ", "), image.kind.Label()), err)
		case err != nil:
			return &stepError{step: fmt.Sprintf("the %s was not set", image.kind.Label()), err: err}
		case set:
			done = append(done, fmt.Sprintf("the %s is changed", image.kind.Label()))
		}
	}
	page, err := c.api.GetPage(c.Ctx, slug)
	return object(c, page, err, c.printPage)
}

// imageChange is a change of one of a page's images.
type imageChange struct {
	kind   allswell.ImageKind
	file   string // "": not set
	remove bool
	body   []byte
}

// read reads the file. The server checks it again, and more strictly.
func (i *imageChange) read() error {
	if i.file == "" {
		return nil
	}
	f, err := os.Open(i.file)
	if err != nil {
		return fmt.Errorf("reading the %s: %w", i.kind.Label(), err)
	}
	defer f.Close()
	if i.body, err = io.ReadAll(io.LimitReader(f, allswell.MaxImageSize+1)); err != nil {
		return fmt.Errorf("reading the %s: %w", i.kind.Label(), err)
	}
	if len(i.body) > allswell.MaxImageSize {
		return fmt.Errorf("the %s %s is larger than %d bytes", i.kind.Label(), i.file, allswell.MaxImageSize)
	}
	mediaType := http.DetectContentType(i.body)
	isImage := strings.HasPrefix(mediaType, "image/") || bytes.Contains(i.body, []byte("<svg"))
	if !isImage || mediaType == "image/x-icon" && i.kind != allswell.ImageIcon {
		return fmt.Errorf("the file %s cannot be the %s: it must be an image, PNG, JPEG, GIF, WebP or SVG, or ICO for an icon", i.file, i.kind.Label())
	}
	return nil
}

// setImage sets or removes an image, and reports whether there was something to do.
func (c *commandContext) setImage(slug string, i imageChange) (set bool, err error) {
	api := map[allswell.ImageKind]struct {
		set    func(context.Context, string, []byte) (*client.Page, error)
		remove func(context.Context, string) error
	}{
		allswell.ImageLogo:     {c.api.SetLogo, c.api.DeleteLogo},
		allswell.ImageLogoDark: {c.api.SetDarkLogo, c.api.DeleteDarkLogo},
		allswell.ImageIcon:     {c.api.SetIcon, c.api.DeleteIcon},
	}[i.kind]
	switch {
	case i.remove:
		err = api.remove(c.Ctx, slug)
	case i.file == "":
		return false, nil
	default:
		_, err = api.set(c.Ctx, slug, i.body)
	}
	return true, err
}
