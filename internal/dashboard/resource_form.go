package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell"
	fields "github.com/allswell/allswell/internal/field"
	"github.com/allswell/allswell/internal/store"
)

// objectScreens are the screens of the objects of a resource that belong to pages.
type objectScreens[T any] struct {
	*fields.Resource[T]
	objects  func(*store.Store) store.Collection[T]
	lines    [][]string // the fields of the form, by line
	deletion string     // what happens if one is deleted
}

// objectForm is the form of an object, as the template "object-fields" draws it.
type objectForm struct {
	*form
	Path  string
	Tag   string // of the object that the form edits; "": a new one
	Lines [][]field
}

// objectScreen is the data of the template object: the form of an object that exists.
type objectScreen struct {
	pageHead
	objectForm
	Noun, Kind, Heading, List, Deletion string
	Conflict                            bool
}

// path returns the path of the objects of a page.
func (o objectScreens[T]) path(p allswell.Page) string { return pagePath(p) + "/" + o.Path }

// form draws the form of an object, whose times are in the zone of the page.
func (o objectScreens[T]) form(f *form, p allswell.Page, path string) objectForm {
	out, zoned := objectForm{form: f, Path: path}, false
	for _, names := range o.lines {
		var line []field
		for _, i := range o.Infos(names...) {
			x := fieldOf(i)
			if i.Kind == fields.KindTime && !zoned {
				zoned = true
				x.Hint += " In the zone of the page, " + p.TimeZone + "."
			}
			line = append(line, f.draw(x))
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

// fieldOf returns the field of a form for a field of a resource.
func fieldOf(i fields.Info) field {
	x := field{Name: i.Name, Label: i.Label, Hint: i.Hint, Placeholder: i.Placeholder, Optional: !i.Required}
	if i.Empty != "" && i.Hint == "" {
		x.Hint = "Left empty: " + i.Empty + "."
	}
	switch i.Kind {
	case fields.KindMarkdown:
		x.Type, x.Rows = "textarea", 3
	case fields.KindTime:
		x.Type = "datetime-local"
	case fields.KindDuration:
		x.Type, x.Optional, x.Hint = "select", false, "" // the screen says what can be chosen
	case fields.KindChoice:
		x.Type, x.Optional = "select", false
		for _, o := range i.Options {
			x.Options = append(x.Options, option{Value: o.Value, Label: o.Label})
		}
	}
	return x
}

// newForm returns the form of a new object.
func (o objectScreens[T]) newForm(p allswell.Page) objectForm {
	return o.form(newForm(url.Values{}), p, o.path(p))
}

// create creates an object of a page. refused is the form, if it was refused.
func (o objectScreens[T]) create(v *visit, p allswell.Page) (refused *objectForm, err error) {
	var begin T
	f := newForm(v.r.PostForm)
	_, err = o.objects(v.store).Create(v.r.Context(), v.actor(), p.Slug, o.ReadForm(begin, f.values, p.Location(), v.now()))
	if f.refused(err) {
		return new(o.form(f, p, o.path(p))), nil
	}
	return nil, err
}

// load returns the object of the path, which is on the page of the path.
func (o objectScreens[T]) load(v *visit) (h pageHead, object T, err error) {
	if h, err = v.pageHead(); err == nil {
		object, err = o.objects(v.store).Get(v.r.Context(), v.actor(), v.r.PathValue(o.Noun))
	}
	if err == nil && o.objects(v.store).PageID(object) != h.Page.ID {
		err = errNotFound
	}
	return h, object, err
}

// show shows the form of an object.
func (o objectScreens[T]) show(v *visit) error {
	h, object, err := o.load(v)
	if err != nil {
		return err
	}
	return o.answer(v, http.StatusOK, h, object, newForm(o.FormValues(object, h.Page.Location())))
}

func (o objectScreens[T]) answer(v *visit, status int, h pageHead, object T, f *form) error {
	s := objectScreen{
		pageHead: h, objectForm: o.form(f, h.Page, o.path(h.Page)+"/"+o.ID(object)), Noun: o.Noun, Kind: strings.ToUpper(o.Noun[:1]) + o.Noun[1:], Heading: f.Value("title"),
		List: o.path(h.Page), Deletion: o.deletion, Conflict: f.saved != nil,
	}
	s.Tag = f.version("tag", allswell.EntityTag(o.Audited(object)), s.Conflict)
	return v.show(status, "object", o.Audited(object).AuditObject().Name, s)
}

// save saves an object, unless somebody else has changed it since the form was shown.
func (o objectScreens[T]) save(v *visit) error {
	h, object, err := o.load(v)
	if err != nil {
		return err
	}
	f, zone := newForm(v.r.PostForm), h.Page.Location()
	_, err = o.objects(v.store).Change(v.r.Context(), v.actor(), o.ID(object), o.ReadForm(object, f.values, zone, v.now()),
		allswell.Precondition{Tags: []string{f.Value("tag")}})
	switch {
	case f.refused(err):
		return o.answer(v, http.StatusUnprocessableEntity, h, object, f)
	case errors.Is(err, allswell.ErrPreconditionFailed):
		f.saved = o.FormValues(object, zone)
		return o.answer(v, http.StatusConflict, h, object, f)
	case err != nil:
		return err
	}
	return v.redirect(o.path(h.Page))
}

// delete deletes an object.
func (o objectScreens[T]) delete(v *visit) error {
	h, object, err := o.load(v)
	if err == nil {
		err = o.objects(v.store).Delete(v.r.Context(), v.actor(), o.ID(object), allswell.Precondition{})
	}
	if err != nil {
		return err
	}
	return v.redirect(o.path(h.Page))
}
