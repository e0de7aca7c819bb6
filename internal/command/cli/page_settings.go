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

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// pageFlags are the flags of commands that create or change a page.
type pageFlags struct {
	resourceFlags
	Footer []footerLink `name:"footer" sep:"none" xor:"footer" placeholder:"LABEL=URL" help:"Link at the foot of the page; repeatable."`
	CSS    string       `name:"css" xor:"css" placeholder:"FILE" help:"File of a style sheet for the page, at most 20,000 bytes. It cannot load anything."`
}

// given returns the given fields, in the form of the API.
func (f pageFlags) given(c *commandContext) (map[string]any, error) {
	given, err := f.resourceFlags.given(c, nil)
	if err == nil && len(f.Footer) > 0 {
		given["footer_links"] = f.Footer
	}
	if err == nil && f.CSS != "" {
		given["custom_css"], err = readCSS(f.CSS)
	}
	return given, err
}

// readCSS returns the style sheet in a file.
func readCSS(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", &console.UsageError{Err: err}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, statuspage.MaxCustomCSS+1))
	switch {
	case err != nil:
		return "", &console.UsageError{Err: err}
	case len(text) > statuspage.MaxCustomCSS:
		return "", console.UsageErrorf("--css: %s has more than %d bytes", file, statuspage.MaxCustomCSS)
	}
	return string(text), nil
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
	pageFlags
	NoFooter   bool   `xor:"footer" help:"Remove the links at the foot of the page."`
	NoCSS      bool   `name:"no-css" xor:"css" help:"Remove the style sheet of the page."`
	Logo       string `placeholder:"FILE" xor:"logo" help:"File of the logo: PNG, JPEG, GIF, WebP or SVG, at most 256 KiB."`
	NoLogo     bool   `xor:"logo" help:"Remove the logo."`
	LogoDark   string `placeholder:"FILE" xor:"logo-dark" help:"File of the logo for dark pages and mails: like a logo."`
	NoLogoDark bool   `xor:"logo-dark" help:"Also use the logo on dark pages and in dark mails."`
	Icon       string `placeholder:"FILE" xor:"icon" help:"File of the icon: like a logo, or ICO."`
	NoIcon     bool   `xor:"icon" help:"Use the default icon."`
}

// change returns the fields that are given.
func (cmd *pageEdit) change(c *commandContext) (map[string]any, error) {
	given, err := cmd.given(c)
	if err == nil && cmd.NoFooter {
		given["footer_links"] = []footerLink{}
	}
	if err == nil && cmd.NoCSS {
		given["custom_css"] = nil
	}
	return given, err
}

// Run reads the image files before it changes anything. Then it changes the page, and last the images.
func (cmd *pageEdit) Run(c *commandContext) error {
	images := []imageChange{
		{kind: statuspage.ImageLogo, file: cmd.Logo, remove: cmd.NoLogo},
		{kind: statuspage.ImageLogoDark, file: cmd.LogoDark, remove: cmd.NoLogoDark},
		{kind: statuspage.ImageIcon, file: cmd.Icon, remove: cmd.NoIcon},
	}
	withImages := false
	for i := range images {
		if err := images[i].read(); err != nil {
			return &console.UsageError{Err: err}
		}
		withImages = withImages || images[i].file != "" || images[i].remove
	}
	given, err := cmd.change(c)
	if err != nil {
		return err
	}
	change, empty := asInput[client.PageChange](given, nil)
	if empty != nil && !withImages {
		return empty
	}
	if err := cmd.choose(c); err != nil {
		return err
	}
	slug := cmd.Page
	var done []string
	if empty == nil {
		page, err := c.api.ChangePage(c.Ctx, slug, change)
		if err != nil || !withImages {
			return object(c, page, err, c.printPage)
		}
		done = append(done, "the page is changed")
		if to, ok := given["slug"].(*string); ok {
			slug = *to
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
	kind   statuspage.ImageKind
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
	if i.body, err = io.ReadAll(io.LimitReader(f, statuspage.MaxImageSize+1)); err != nil {
		return fmt.Errorf("reading the %s: %w", i.kind.Label(), err)
	}
	if len(i.body) > statuspage.MaxImageSize {
		return fmt.Errorf("the %s %s is larger than %d bytes", i.kind.Label(), i.file, statuspage.MaxImageSize)
	}
	mediaType := http.DetectContentType(i.body)
	isImage := strings.HasPrefix(mediaType, "image/") || bytes.Contains(i.body, []byte("<svg"))
	if !isImage || mediaType == "image/x-icon" && i.kind != statuspage.ImageIcon {
		return fmt.Errorf("the file %s cannot be the %s: it must be an image, PNG, JPEG, GIF, WebP or SVG, or ICO "+
			"for an icon", i.file, i.kind.Label())
	}
	return nil
}

// setImage sets or removes an image, and reports whether there was something to do.
func (c *commandContext) setImage(slug string, i imageChange) (set bool, err error) {
	api := map[statuspage.ImageKind]struct {
		set    func(context.Context, string, []byte) (*client.Page, error)
		remove func(context.Context, string) error
	}{
		statuspage.ImageLogo:     {c.api.SetLogo, c.api.DeleteLogo},
		statuspage.ImageLogoDark: {c.api.SetDarkLogo, c.api.DeleteDarkLogo},
		statuspage.ImageIcon:     {c.api.SetIcon, c.api.DeleteIcon},
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
