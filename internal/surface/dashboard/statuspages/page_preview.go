package statuspages

import (
	"html/template"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/surface/assets"
	"github.com/allswell/allswell/internal/surface/page/view"
	"github.com/allswell/allswell/internal/surface/web"
)

// showPreview answers with the public page, with the settings of the form and the scheme of the query. Invalid
// settings, such as half-typed ones, are replaced by the saved ones.
func (r *request) showPreview() error {
	if _, err := r.PageHead(); err != nil {
		return err
	}
	contents, err := r.Store.LoadPage(r.Context(), r.PathValue("page"))
	if err != nil {
		return err
	}
	saved := contents.Page
	if r.Method == http.MethodPost {
		applyValid(&contents.Page, r.PostForm)
	}
	view.CleanNames(&contents)
	sum := contents.Summarize(contents.AsOf)
	css := sum.Page.CustomCSS
	if sum.Page.Accent != "" {
		css = string(assets.AccentDocument(sum.Page.Accent).Body()) + css
	}
	scheme := "light"
	if r.URL.Query().Get("scheme") == "dark" {
		scheme = "dark"
	}
	at := view.Present(sum.Page, view.Variant{Language: i18n.Or(sum.Page.DefaultLanguage())})
	at.Mail, at.Webhooks = true, sum.Page.WebhookSignUps
	layout := view.NewLayout(at, sum.Page, sum.Severity(), sum.AsOf).AsPreview(view.Preview{
		Scheme: scheme, Style: template.CSS(css), Logo: imagePath(saved, statuspage.ImageLogo, saved.Logo),
		LogoDark: imagePath(saved, statuspage.ImageLogoDark, saved.LogoDark),
		Icon:     imagePath(saved, statuspage.ImageIcon, saved.Icon),
	})
	html, err := view.Status(layout, sum).Render(r.Context())
	if err != nil {
		return err
	}
	h := r.W.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", string(web.PolicyPreview(css)))
	h.Set("X-Frame-Options", "SAMEORIGIN")
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err = r.W.Write(html); err != nil {
		return http.ErrAbortHandler // the browser has gone
	}
	return nil
}

// applyValid applies the valid values of a form to a page, for the fields that change its appearance.
func applyValid(p *statuspage.Page, values url.Values) {
	for _, name := range []string{
		"name", "description", "accent", "footer_links", "custom_css", "language", "languages", "time_zone",
	} {
		changed := *p
		if resource.Page.Only(name).Apply(&changed, readPage(*p, values, name), p.UpdatedAt) == nil {
			*p = changed
		}
	}
}
