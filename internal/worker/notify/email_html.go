package notify

import (
	htmltemplate "html/template"
	"path"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
)

// startSide returns the side at which lines of a language begin, as CSS names it. Mail
// programs do not know logical properties.
func startSide(l *i18n.Language) string {
	if l.Dir == "rtl" {
		return "right"
	}
	return "left"
}

// mailTones returns the tones that a mail can have.
func mailTones() []*kernel.Tone { return append(kernel.Tones(), &kernel.NeutralTone) }

// mailLogo is the logo of a page in its mails.
type mailLogo struct {
	Light string // URL; "": the name of the page is shown
	Dark  string // URL; "": Light on a light plate
}

// mailImages are the formats that mail programs show. They do not show SVG.
var mailImages = []string{".png", ".jpg", ".gif", ".webp"}

// logoOf returns the logo of a page at url.
func logoOf(page statuspage.Page, url string) (logo mailLogo) {
	if slices.Contains(mailImages, path.Ext(page.Logo)) {
		logo.Light = url + "/look/" + page.Logo
	}
	if logo.Light != "" && slices.Contains(mailImages, path.Ext(page.LogoDark)) {
		logo.Dark = url + "/look/" + page.LogoDark
	}
	return logo
}

// messageStyle adds styles to the elements of messages, for the start side of a language and the accent of a page. The
// style attributes are what most mail programs keep; the classes are for dark mode. The first match counts.
func messageStyle(start string, accent statuspage.AccentShades) *strings.Replacer {
	quote := `<blockquote class="quote" style="margin:10px 0 0;padding:0 12px;border-` + start +
		`:3px solid #c3cad3;color:#57606b;">`
	return strings.NewReplacer(
		"<blockquote><p>", quote+openFirst,
		"<blockquote>", quote,
		"<li><p>", "<li>"+openFirst,
		"<p>", openParagraph,
		"<pre><code>",
		`<pre class="code" style="margin:10px 0 0;padding:10px 12px;`+codeStyle+
			`line-height:1.5;white-space:pre-wrap;direction:ltr;text-align:left;"><code>`,
		"<code>", `<code class="code" style="padding:1px 4px;`+codeStyle+`">`,
		"<ul>", `<ul style="`+listStyle+`">`,
		"<ol", `<ol style="`+listStyle+`"`,
		"<hr>", `<hr class="line" style="margin:14px 0 4px;border:0;border-top:1px solid #e1e5ea;">`,
		"<a href=", `<a class="link" style="color:`+accent.Text.Light+`;" href=`,
	)
}

const (
	openParagraph = `<p style="margin:10px 0 0;">`
	openFirst     = `<p style="margin:0;">`
	codeStyle     = `background-color:#eceff3;border-radius:4px;font-family:Consolas,Menlo,monospace;font-size:14px;`
	listStyle     = `margin:6px 0 0;padding:0 24px;`
)

// styled adds styles to a message made by markdown.HTML. Typed text contains no "<" there, so only elements match.
func styled(message htmltemplate.HTML, style *strings.Replacer) htmltemplate.HTML {
	html := style.Replace(string(message))
	if rest, ok := strings.CutPrefix(html, openParagraph); ok {
		html = openFirst + rest
	}
	return htmltemplate.HTML(html)
}
