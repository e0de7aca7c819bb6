package notify

import (
	htmltemplate "html/template"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/i18n"
)

// startSide returns the side at which lines of a language begin, as CSS names it. Mail
// programs do not know logical properties.
func startSide(l *i18n.Language) string {
	if l.Dir == "rtl" {
		return "right"
	}
	return "left"
}

// mailLink returns a link for a text of the footer. dir is the direction of its label.
func mailLink(url, label, dir string) htmltemplate.HTML {
	escape := htmltemplate.HTMLEscapeString
	return htmltemplate.HTML(`<a class="link" href="` + escape(url) + `" dir="` + dir + `" style="color:#1b4f9c;">` + escape(label) + `</a>`)
}

// mailTones returns the tones that a mail can have.
func mailTones() []*allswell.Tone { return append(allswell.Tones(), &allswell.NeutralTone) }

// mailStyles adds styles to the elements of messages, by the start side of the language.
// The style attributes are what most mail programs keep; the classes are for dark mode.
// The first match counts.
var mailStyles = map[string]*strings.Replacer{"left": messageStyles("left"), "right": messageStyles("right")}

func messageStyles(start string) *strings.Replacer {
	quote := `<blockquote class="quote" style="margin:10px 0 0;padding:0 12px;border-` + start + `:3px solid #c9c5ba;color:#555c65;">`
	return strings.NewReplacer(
		"<blockquote><p>", quote+openFirst,
		"<blockquote>", quote,
		"<li><p>", "<li>"+openFirst,
		"<p>", openParagraph,
		"<pre><code>", `<pre class="code" style="margin:10px 0 0;padding:10px 12px;`+codeStyle+`line-height:1.5;white-space:pre-wrap;direction:ltr;text-align:left;"><code>`,
		"<code>", `<code class="code" style="padding:1px 4px;`+codeStyle+`">`,
		"<ul>", `<ul style="`+listStyle+`">`,
		"<ol", `<ol style="`+listStyle+`"`,
		"<hr>", `<hr class="line" style="margin:14px 0 4px;border:0;border-top:1px solid #e2dfd7;">`,
		"<a href=", `<a class="link" style="color:#1b4f9c;" href=`,
	)
}

const (
	openParagraph = `<p style="margin:10px 0 0;">`
	openFirst     = `<p style="margin:0;">`
	codeStyle     = `background-color:#f0eee8;border-radius:4px;font-family:Consolas,Menlo,monospace;font-size:14px;`
	listStyle     = `margin:6px 0 0;padding:0 24px;`
)

// styled adds styles to a message made by markdown.HTML. Typed text contains no "<"
// there, so only elements match.
func styled(message htmltemplate.HTML, l *i18n.Language) htmltemplate.HTML {
	html := mailStyles[startSide(l)].Replace(string(message))
	if rest, ok := strings.CutPrefix(html, openParagraph); ok {
		html = openFirst + rest
	}
	return htmltemplate.HTML(html)
}
