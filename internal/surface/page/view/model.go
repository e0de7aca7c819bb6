// Package view renders the HTML of the status pages.
//
// A constructor such as [Status] or [Incident] lays out what the domain computed in a [Model], the data of a template,
// and [Model.Render] executes the template. The package knows neither requests nor the store: the caller loads the data
// and chooses the [Presentation]. Names must have passed [CleanNames].
package view

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"time"
)

// Model is the data of an HTML document: the layout, which all documents have, and the body.
type Model struct {
	Layout   Layout
	template string // name of the body's template, without "page "
	body     any
}

// Render returns the HTML of a model. It stops when ctx ends, and returns its error.
func (m Model) Render(ctx context.Context) ([]byte, error) {
	all := templates()[m.Layout.At.lang]()
	body, out := renderBuffer{ctx: ctx}, renderBuffer{ctx: ctx}
	if err := all.ExecuteTemplate(&body, "page "+m.template, m.body); err != nil {
		return nil, err
	}
	err := all.Execute(&out, struct {
		Layout Layout
		Main   template.HTML
	}{m.Layout, template.HTML(body.String())})
	if err != nil {
		return nil, err
	}
	return bytes.Clone(out.Bytes()), nil
}

// Delayed returns the model with the line that the page has not been refreshed since an instant.
func (m Model) Delayed(since time.Time) Model {
	m.Layout.Late = m.Layout.At.moment(since)
	m.Layout.Tag = DelayedTag(m.Layout.Tag)
	return m
}

// DelayedTag returns the tag of a delayed page, given the tag of the page.
func DelayedTag(tag string) string { return tag + "-late" }

// WithoutTime returns the model without the parts that change only because time passes:
// the time of rendering, and the uptimes of a status page. The bars remain.
func (m Model) WithoutTime() Model {
	m.Layout.AsOf = moment{}
	if b, ok := m.body.(statusBody); ok {
		m.body = b.withoutUptimes()
	}
	return m
}

// renderBuffer collects the output of templates, up to MaxBytes. Writing fails after ctx has ended.
type renderBuffer struct {
	bytes.Buffer
	ctx context.Context
}

// errDocumentTooLarge means that the limits of the parts do not keep a document within MaxBytes.
var errDocumentTooLarge = errors.New("the document exceeds the maximum size")

// Write is the only method that templates call.
func (b *renderBuffer) Write(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.Len()+len(p) > MaxBytes {
		return 0, errDocumentTooLarge
	}
	return b.Buffer.Write(p)
}
