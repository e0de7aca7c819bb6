package statuspages

import (
	"fmt"
	"html"
	"net/http"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// shareScreen is the data of the template page_share.
type shareScreen struct {
	frame.PageHead
	Private  bool // nothing can be embedded
	Frame    string
	Badge    string
	Snippets []shareSnippet
}

// shareSnippet is code to copy into another site.
type shareSnippet struct{ Name, Note, Code string }

// showShare shows how other sites can embed the status of a page.
func (r *request) showShare() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	s := shareScreen{PageHead: h, Private: h.Page.Visibility == statuspage.VisibilityPrivate}
	if !s.Private {
		shown := "/status/" + h.Page.Slug
		s.Frame, s.Badge, s.Snippets = shown+"/widget", shown+"/badge.svg", shareSnippets(h.Page, h.URL)
	}
	return r.Show(http.StatusOK, "page_share", h.Page.Name+": share", s)
}

// shareSnippets returns the code for a page at a URL.
func shareSnippets(p statuspage.Page, address string) []shareSnippet {
	at, name := html.EscapeString(address), html.EscapeString(p.Name)
	return []shareSnippet{
		{"Script widget",
			"The widget appears in place of this line. data-theme=\"light\" or \"dark\" overrides the colours of the " +
				"site.",
			fmt.Sprintf(`<script src="%s/widget.js" data-title="Status of %s" async></script>`, at, name)},
		{"iframe widget",
			"For sites that allow no third-party scripts. Their Content-Security-Policy needs frame-src " + address +
				"/widget.",
			fmt.Sprintf(`<iframe src="%s/widget" title="Status of %s" width="384" height="64" style="border:0" `+
				`loading="lazy"></iframe>`, at, name)},
		{"Badge in HTML", "", fmt.Sprintf(`<a href="%s"><img src="%[1]s/badge.svg" alt="Status of %s"></a>`, at, name)},
		{"Badge in Markdown", "For a README.", fmt.Sprintf("[![Status](%s/badge.svg)](%[1]s)", address)},
		{"Atom feed", "", address + "/history.atom"}, {"Maintenance calendar", "", address + "/history.ics"},
	}
}
