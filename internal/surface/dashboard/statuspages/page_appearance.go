package statuspages

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/web"
)

// accentColours are the colours in which a page shows its accent. They are adapted if the accent is hard to read.
type accentColours struct {
	Accent, Light, Dark string // "#rrggbb"
	Adapted             bool   // a scheme shows another colour than the chosen accent
}

func newAccentColours(accent string) accentColours {
	shades, ok := statuspage.AdaptAccent(accent)
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
		all = append(all, preview{scheme[0], scheme[1], frame.PagePath(p) + "/preview?scheme=" + scheme[0]})
	}
	return all
}

// imagePath returns the path of an image of a page in the dashboard; "": there is no image. name changes with the
// contents of the image.
func imagePath(p statuspage.Page, kind statuspage.ImageKind, name string) string {
	if name == "" {
		return ""
	}
	return frame.PagePath(p) + "/images/" + string(kind) + "?" + name
}

// imageUpload is the form for an image of a page.
type imageUpload struct {
	Kind        statuspage.ImageKind
	Label, Hint string
	Path        string // of the form
	URL         string // of the current image; "": none
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
		image.Path = frame.PagePath(s.Page) + "/images/" + string(image.Kind)
		image.Errors = s.ErrorsOf(string(image.Kind), image.Label)
		s.Images = append(s.Images, image)
	}
}

// showPageImage answers with an image of a page. The public URL of the image may require access to a private page.
func (r *request) showPageImage() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	image, err := r.Store.LoadPageImage(r.Context(), h.Page.Slug, statuspage.ImageKind(r.PathValue("kind")))
	if err != nil {
		return err
	}
	r.W.Header().Set("Content-Type", image.Type)
	r.W.Header().Set("Content-Security-Policy", string(web.PolicyImage))
	r.W.Header().Set("X-Content-Type-Options", "nosniff")
	_, err = r.W.Write(image.Body)
	if err != nil {
		return http.ErrAbortHandler // the browser has gone
	}
	return nil
}

// setPageImage sets an image of a page, or removes it.
func (r *request) setPageImage() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	kind, change := statuspage.ImageKind(r.PathValue("kind")), r.uploadImage
	if !slices.Contains(statuspage.ImageKinds, kind) {
		return kernel.ErrNotFound
	}
	if r.PostForm.Has("remove") {
		change = r.removeImage
	}
	err = change(r.Context(), h.Page.Slug, kind)
	var bad *kernel.ValidationError
	if errors.As(err, &bad) {
		s := &pageSettingsScreen{Form: frame.NewForm(pageValues(h.Page)), PageHead: h}
		s.Invalid = new(kernel.ValidationError)
		for _, p := range bad.Of(jsonobject.BodyField) {
			s.Refuse(string(kind), p.Code, p.Args...)
		}
		return r.showPageForm(http.StatusUnprocessableEntity, s)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.PagePath(h.Page) + "?saved#appearance")
}

func (r *request) removeImage(ctx context.Context, slug string, kind statuspage.ImageKind) error {
	_, err := r.Store.DeletePageImage(ctx, r.Actor(), slug, kind)
	return err
}

func (r *request) uploadImage(ctx context.Context, slug string, kind statuspage.ImageKind) error {
	var body []byte
	file, _, err := r.FormFile("image")
	if err == nil {
		defer file.Close()
		body, err = io.ReadAll(file)
	}
	if err != nil && !errors.Is(err, http.ErrMissingFile) && !errors.Is(err, http.ErrNotMultipart) {
		return err
	}
	image, err := web.ReadImage(kind, body)
	if err == nil {
		_, err = r.Store.SetPageImage(ctx, r.Actor(), slug, image)
	}
	return err
}
