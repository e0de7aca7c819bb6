package dashboard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/web"
)

// accentColours are the colours in which a page shows its accent, adapted if it would be hard to read.
type accentColours struct {
	Accent, Light, Dark string // "#rrggbb"
	Adapted             bool   // a scheme does not show the accent as it is
}

func newAccentColours(accent string) accentColours {
	shades, ok := assets.AdaptAccent(accent)
	l := accentColours{Accent: accent, Light: shades.Text.Light, Dark: shades.Text.Dark}
	l.Adapted = ok && (l.Light != accent || l.Dark != accent)
	return l
}

// preview is the page as visitors see it in one scheme.
type preview struct {
	Scheme, Label string
	Path          string
}

func newPreviews(p statuspage.Page) (all []preview) {
	for _, scheme := range [][2]string{{"light", "Light"}, {"dark", "Dark"}} {
		all = append(all, preview{scheme[0], scheme[1], pagePath(p) + "/preview?scheme=" + scheme[0]})
	}
	return all
}

// imagePath returns the path of an image of a page for its operators, or "" if there is none. name changes with its
// contents.
func imagePath(p statuspage.Page, kind statuspage.ImageKind, name string) string {
	if name == "" {
		return ""
	}
	return pagePath(p) + "/images/" + string(kind) + "?" + name
}

// imageUpload is the form for an image of a page.
type imageUpload struct {
	Kind        statuspage.ImageKind
	Label, Hint string
	Path        string // of the form
	URL         string // of the present image; "": none
	Errors      []string
}

func (s *pageSettingsScreen) drawImages() {
	for _, image := range []imageUpload{
		{
			Kind: statuspage.ImageLogo, Label: "Logo", Hint: "In place of the name.",
			URL: imagePath(s.Page, statuspage.ImageLogo, s.Page.Logo),
		},
		{
			Kind: statuspage.ImageLogoDark, Label: "Logo on dark pages",
			Hint: "Without it, dark pages show the logo above.",
			URL:  imagePath(s.Page, statuspage.ImageLogoDark, s.Page.LogoDark),
		},
		{
			Kind: statuspage.ImageIcon, Label: "Icon",
			Hint: "In tabs of browsers. Without it, the icon shows the state.",
			URL:  imagePath(s.Page, statuspage.ImageIcon, s.Page.Icon),
		},
	} {
		image.Path = pagePath(s.Page) + "/images/" + string(image.Kind)
		image.Errors = s.errorsOf(string(image.Kind), image.Label)
		s.Images = append(s.Images, image)
	}
}

// showPageImage answers with an image of a page, for which visitors of private pages need a token.
func (v *visit) showPageImage() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	image, err := v.store.LoadPageImage(v.r.Context(), h.Page.Slug, statuspage.ImageKind(v.r.PathValue("kind")))
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", image.Type)
	v.w.Header().Set("Content-Security-Policy", string(web.PolicyImage))
	v.w.Header().Set("X-Content-Type-Options", "nosniff")
	_, err = v.w.Write(image.Body)
	if err != nil {
		return http.ErrAbortHandler // the browser has gone
	}
	return nil
}

// setPageImage sets an image of a page, or removes it.
func (v *visit) setPageImage() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	kind, change := statuspage.ImageKind(v.r.PathValue("kind")), v.uploadImage
	if !slices.Contains(statuspage.ImageKinds, kind) {
		return errNotFound
	}
	if v.r.PostForm.Has("remove") {
		change = v.removeImage
	}
	err = change(v.r.Context(), h.Page.Slug, kind)
	var bad *kernel.ValidationError
	if errors.As(err, &bad) {
		s := &pageSettingsScreen{form: newForm(pageValues(h.Page)), pageHead: h}
		s.bad = new(kernel.ValidationError)
		for _, p := range bad.Of(jsonobject.BodyField) {
			s.refuse(string(kind), p.Code, p.Args...)
		}
		return v.showPageForm(http.StatusUnprocessableEntity, s)
	}
	if err != nil {
		return err
	}
	return v.redirect(pagePath(h.Page) + "?saved#appearance")
}

func (v *visit) removeImage(ctx context.Context, slug string, kind statuspage.ImageKind) error {
	_, err := v.store.DeletePageImage(ctx, v.actor(), slug, kind)
	return err
}

func (v *visit) uploadImage(ctx context.Context, slug string, kind statuspage.ImageKind) error {
	var body []byte
	file, _, err := v.r.FormFile("image")
	if err == nil {
		defer file.Close()
		body, err = io.ReadAll(file)
	}
	if err != nil && !errors.Is(err, http.ErrMissingFile) && !errors.Is(err, http.ErrNotMultipart) {
		return err
	}
	image, err := web.ReadImage(kind, body)
	if err == nil {
		_, err = v.store.SetPageImage(ctx, v.actor(), slug, image)
	}
	return err
}
