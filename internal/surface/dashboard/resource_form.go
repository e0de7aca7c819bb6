package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	fields "github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/store"
)

// objectScreens are the screens of the objects of a resource.
type objectScreens[T any] struct {
	*fields.Resource[T]
	objects  func(*store.Store) store.Collection[T]
	list     func(statuspage.Page) string // the path of the list of the objects of a page, or of the workspace
	trail    string                       // the name of the list of the workspace
	lines    [][]string                   // the fields of the form, by line
	deletion string                       // what happens if one is deleted

	// options returns what references can refer to, by the names of their fields; nil: there are none.
	options func(*visit) (map[string][]option, error)
	// protects reports whether a member who may change objects may not change this one; nil: there is none like that.
	protects func(*visit, T) bool
}

// checkedScreens returns the screens. It panics if a line names a field that the resource does not have.
func checkedScreens[T any](o objectScreens[T]) objectScreens[T] {
	for _, name := range slices.Concat(o.lines...) {
		o.Info(name)
	}
	return o
}

// objectPlace is what objects are in.
type objectPlace struct {
	pageHead // zero: they are in the workspace
	List     string
	zone     *time.Location // of their times
	options  map[string][]option
}

// objectForm is the form of an object, as the template "object-fields" draws it.
type objectForm struct {
	*form
	Path  string
	Tag   string // of the object that the form edits; "": a new one
	Lines [][]field
}

// objectScreen is the data of the template object: the form of an object on a screen of its own.
type objectScreen struct {
	objectPlace
	objectForm
	Noun, Kind, Heading, Trail, Deletion string
	New, Conflict                        bool
}

// place loads what the objects of the path are in.
func (o objectScreens[T]) place(v *visit) (p objectPlace, err error) {
	p.zone = time.UTC
	if o.OnPage {
		if p.pageHead, err = v.pageHead(); err != nil {
			return p, err
		}
		p.zone = p.Page.Location()
	}
	p.List = o.list(p.Page)
	if o.options != nil {
		p.options, err = o.options(v)
	}
	return p, err
}

// form draws the form of an object.
func (o objectScreens[T]) form(f *form, p objectPlace, path string) objectForm {
	out, zoned := objectForm{form: f, Path: path}, false
	for _, names := range o.lines {
		var line []field
		for _, name := range names {
			i := o.Info(name)
			x := fieldOf(i)
			if i.Kind == fields.KindReference {
				x.Options = append(x.Options, p.options[i.Name]...)
			}
			if i.Kind == fields.KindTime && !zoned {
				zoned = true
				if o.OnPage {
					x.Hint += " In the zone of the page, " + p.Page.TimeZone + "."
				} else {
					x.Hint += " In UTC."
				}
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
	if i.Empty != "" && i.Empty != "none" && i.Hint == "" && i.None == "" {
		x.Hint = "Left empty: " + i.Empty + "."
	}
	if i.Kind == fields.KindMarkdown || i.Kind == fields.KindText && i.Max > kernel.MaxTitleLength { // of several lines
		x.Type, x.Rows = "textarea", 3
	}
	switch i.Kind {
	case fields.KindSlug: // it cannot be removed
		x.Hint = "If a new one has none, it is made from the name."
	case fields.KindLines:
		x.Type, x.Rows = "textarea", 2
	case fields.KindTime:
		x.Type = "datetime-local"
	case fields.KindDate:
		x.Type = "date"
	case fields.KindClock:
		x.Type = "time"
	case fields.KindDuration:
		if !i.Typed {
			x.Type, x.Optional, x.Hint = "select", false, "" // the screen says what can be chosen
		}
	case fields.KindChoice, fields.KindReference, fields.KindBool:
		x.Type, x.Optional = "select", false
		if i.None != "" {
			x.Options = []option{{Label: i.None}}
		}
	}
	for _, o := range i.Options {
		x.Options = append(x.Options, option{Value: o.Value, Label: o.Label})
	}
	return x
}

// newForm returns the form of a new object in a list.
func (o objectScreens[T]) newForm(p objectPlace) objectForm {
	return o.form(newForm(url.Values{}), p, p.List)
}

// create creates an object. refused is the form, if it was refused.
func (o objectScreens[T]) create(v *visit, p objectPlace) (refused *form, err error) {
	var begin T
	f := newForm(v.r.PostForm)
	_, err = o.objects(v.store).Create(v.r.Context(), v.actor(), p.Page.Slug,
		o.ReadForm(begin, f.values, p.zone, v.now()))
	if f.refused(err) {
		return f, nil
	}
	return nil, err
}

// showNew shows the form of a new object on a screen of its own.
func (o objectScreens[T]) showNew(v *visit) error {
	p, err := o.place(v)
	if err != nil {
		return err
	}
	return o.answerNew(v, http.StatusOK, p, newForm(url.Values{}))
}

func (o objectScreens[T]) answerNew(v *visit, status int, p objectPlace, f *form) error {
	s := objectScreen{
		objectPlace: p, objectForm: o.form(f, p, p.List+"/new"), Noun: o.Argument(), Heading: "New " + o.Argument(),
		Trail: o.trail, New: true,
	}
	focusFirst(s.Lines...)
	return v.show(status, "object", s.Heading, s)
}

// createNew creates an object from the form of showNew.
func (o objectScreens[T]) createNew(v *visit) error {
	p, err := o.place(v)
	if err != nil {
		return err
	}
	refused, err := o.create(v, p)
	switch {
	case err != nil:
		return err
	case refused != nil:
		return o.answerNew(v, http.StatusUnprocessableEntity, p, refused)
	}
	return v.redirect(p.List)
}

// load returns the object of the path.
func (o objectScreens[T]) load(v *visit) (p objectPlace, object T, err error) {
	if p, err = o.place(v); err == nil {
		object, err = o.objects(v.store).Get(v.r.Context(), v.actor(), p.Page.Slug, v.r.PathValue(o.Argument()))
	}
	if err == nil && o.protects != nil && o.protects(v, object) {
		err = errForbidden
	}
	return p, object, err
}

// show shows the form of an object.
func (o objectScreens[T]) show(v *visit) error {
	p, object, err := o.load(v)
	if err != nil {
		return err
	}
	return o.answer(v, http.StatusOK, p, object, newForm(o.FormValues(object, p.zone)))
}

func (o objectScreens[T]) answer(v *visit, status int, p objectPlace, object T, f *form) error {
	path := strings.TrimSuffix(v.r.URL.Path, "/")
	s := objectScreen{
		objectPlace: p, objectForm: o.form(f, p, path), Noun: o.Argument(),
		Kind:    strings.ToUpper(o.Noun[:1]) + o.Noun[1:],
		Heading: o.Name(object), Trail: o.trail, Deletion: o.deletion, Conflict: f.saved != nil,
	}
	s.Tag = f.version("tag", kernel.EntityTag(o.Audited(object)), s.Conflict)
	return v.show(status, "object", s.Heading, s)
}

// save saves an object, unless somebody else has changed it since the form was shown.
func (o objectScreens[T]) save(v *visit) error {
	p, object, err := o.load(v)
	if err != nil {
		return err
	}
	f := newForm(v.r.PostForm)
	_, err = o.objects(v.store).Change(v.r.Context(), v.actor(), "", o.ID(object),
		o.ReadForm(object, f.values, p.zone, v.now()),
		shownVersion(f.values))
	switch {
	case f.refused(err):
		return o.answer(v, http.StatusUnprocessableEntity, p, object, f)
	case errors.Is(err, kernel.ErrPreconditionFailed):
		f.saved = o.FormValues(object, p.zone)
		return o.answer(v, http.StatusConflict, p, object, f)
	case err != nil:
		return err
	}
	return v.redirect(p.List)
}

// delete deletes an object.
func (o objectScreens[T]) delete(v *visit) error {
	p, object, err := o.load(v)
	if err == nil {
		err = o.objects(v.store).Delete(v.r.Context(), v.actor(), "", o.ID(object), kernel.Precondition{})
	}
	if err != nil {
		return err
	}
	return v.redirect(p.List)
}
