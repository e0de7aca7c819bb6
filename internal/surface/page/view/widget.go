package view

import (
	"bytes"
	"fmt"
	"html/template"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// The names of the widget below the path of a page: the document for a frame, and the script that adds the frame.
const (
	WidgetName       = "widget"
	WidgetScriptName = "widget.js"
)

// widget is what the template widget shows.
type widget struct {
	Lang, Dir string
	URL, Page string
	Headline  string
	Incident  *statuspage.Incident // the incident that the page leads with; nil: none
	Icon      template.HTML
	Sign      string // data of an SVG path
	Style     template.CSS
}

// Widget returns a small HTML document with the state of a page and its lead incident, and its only style sheet, which
// is inline. at.Public must be set. If delayed, the state is unknown.
func Widget(at Presentation, sum statuspage.Summary, delayed bool) (html []byte, style string, err error) {
	tone := sum.Status.Tone()
	w := widget{
		Lang: at.lang.Tag, Dir: at.lang.Dir, URL: at.withLanguage(at.Public), Page: sum.Page.Name,
		Headline: at.lang.Banner(sum.Status),
	}
	if delayed {
		tone = kernel.StatusUnknown.Tone()
		w.Headline = at.lang.Banner(kernel.StatusUnknown)
	} else if lead, ok := sum.LeadIncident(); ok {
		w.Incident, w.Headline = &lead, at.lang.IncidentTitle(lead)
		tone = sum.Severity().Tone()
	}
	w.Icon, w.Sign = template.HTML(tone.Icon.Body), tone.Icon.Sign
	style = fmt.Sprintf(widgetStyle, tone.Text.Light, tone.Text.Dark)
	w.Style = template.CSS(style)
	var out bytes.Buffer
	err = templates()[at.lang]().ExecuteTemplate(&out, "widget", w)
	return out.Bytes(), style, err
}

// widgetStyle is the format of a widget's style sheet. Its verbs are the colours of the tone on light and on dark
// pages.
const widgetStyle = `:root{color-scheme:light ` +
	`dark;--tone:%s;--card:#fff;--line:#e1e5ea;--text:#14181d;--muted:#57606b}` +
	`@media(prefers-color-scheme:dark){:root{--tone:%s;--card:#171c23;--line:#2a323c;--text:#e9ecef;--muted:#a3adb8}}` +
	`*{box-sizing:border-box}body{margin:0;font:14px/1.4 system-ui,sans-serif;color:var(--text)}` +
	`a{display:flex;align-items:center;gap:12px;height:100vh;padding:8px 14px;border:1px solid ` +
	`var(--line);border-radius:10px;background:var(--card);color:inherit;text-decoration:none}` +
	`a:focus-visible{outline:3px solid var(--tone);outline-offset:-3px}a:hover strong{text-decoration:underline}` +
	`svg{flex:none;width:24px;color:var(--tone);fill:currentColor}path.sign{fill:none;stroke:var(--card);stroke-width:2.2;stroke-linecap:round;stroke-linejoin:round}` +
	`span{min-width:0}strong,` +
	`small{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}small{font-size:13px;color:var(--muted)}`
