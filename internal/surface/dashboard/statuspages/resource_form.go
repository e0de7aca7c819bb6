package statuspages

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
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// objectScreens are the screens of the objects of a resource.
type objectScreens[T any] struct {
	*fields.Resource[T]
	objects  func(*store.Store) store.Collection[T]
	list     func(statuspage.Page) string // the path of the list of the objects of a page, or of the workspace
	trail    string                       // name of the workspace's list
	lines    [][]string                   // the fields of the form, by line
	deletion string                       // describes the effect of a deletion

	// options returns the objects to which references can refer, by the name of the field; nil: there are none.
	options func(*request) (map[string][]frame.Option, error)
	// protects reports whether a member who may change objects must not change this one; nil: there are no such
	// objects.
	protects func(*request, T) bool
}

// checkedScreens returns the screens. It panics if a line names a field that the resource does not have.
func checkedScreens[T any](o objectScreens[T]) objectScreens[T] {
	for _, name := range slices.Concat(o.lines...) {
		o.Info(name)
	}
	return o
}

// objectPlace is the page or the workspace that contains objects.
type objectPlace struct {
	frame.PageHead // zero: the objects belong to the workspace
	List           string
	zone           *time.Location // of their times
	options        map[string][]frame.Option
}

// objectForm is the form of an object, as the template "object-fields" draws it.
type objectForm struct {
	*frame.Form
	Path  string
	Tag   string // entity tag of the object that the form edits; "": a new one
	Lines [][]frame.Field
}

// objectScreen is the data of the template object: the form of an object on a screen of its own.
type objectScreen struct {
	objectPlace
	objectForm
	Noun, Kind, Heading, Trail, Deletion string
	New, Conflict                        bool
}

// place loads the page of the objects, if they belong to one, and the options of their fields.
func (o objectScreens[T]) place(r *request) (p objectPlace, err error) {
	p.zone = time.UTC
	if o.OnPage {
		if p.PageHead, err = r.PageHead(); err != nil {
			return p, err
		}
		p.zone = p.Page.Location()
	}
	p.List = o.list(p.Page)
	if o.options != nil {
		p.options, err = o.options(r)
	}
	return p, err
}

// form draws the form of an object.
func (o objectScreens[T]) form(f *frame.Form, p objectPlace, path string) objectForm {
	out, zoned := objectForm{Form: f, Path: path}, false
	for _, names := range o.lines {
		var line []frame.Field
		for _, name := range names {
			i := o.Info(name)
			x := frame.FieldOf(i)
			if i.Kind == fields.KindReference {
				x.Options = append(x.Options, p.options[i.Name]...)
			}
			if i.Kind == fields.KindTime && !zoned {
				zoned = true
				if o.OnPage {
					x.Hint += " " + zoneOfPage(p.Page)
				} else {
					x.Hint += " Time zone: UTC"
				}
			}
			line = append(line, f.Draw(x))
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

// newForm returns the empty form that adds an object to a list.
func (o objectScreens[T]) newForm(p objectPlace) objectForm {
	return o.form(frame.NewForm(url.Values{}), p, p.List)
}

// create creates an object. If the input is invalid, it returns the form with its errors, and no error.
func (o objectScreens[T]) create(r *request, p objectPlace) (refused *frame.Form, err error) {
	var begin T
	f := frame.NewForm(r.PostForm)
	_, err = o.objects(r.Store).Create(r.Context(), r.Actor(), p.Page.Slug,
		o.ReadForm(begin, f.Values, p.zone, r.Now()))
	if f.Refused(err) {
		return f, nil
	}
	return nil, err
}

// showNew shows the form of a new object on a screen of its own.
func (o objectScreens[T]) showNew(r *request) error {
	p, err := o.place(r)
	if err != nil {
		return err
	}
	return o.answerNew(r, http.StatusOK, p, frame.NewForm(url.Values{}))
}

func (o objectScreens[T]) answerNew(r *request, status int, p objectPlace, f *frame.Form) error {
	s := objectScreen{
		objectPlace: p, objectForm: o.form(f, p, p.List+"/new"), Noun: o.Argument(), Heading: "New " + o.Argument(),
		Trail: o.trail, New: true,
	}
	frame.FocusFirst(s.Lines...)
	return r.Show(status, "object", s.Heading, s)
}

// createNew creates an object from the form of showNew.
func (o objectScreens[T]) createNew(r *request) error {
	p, err := o.place(r)
	if err != nil {
		return err
	}
	refused, err := o.create(r, p)
	switch {
	case err != nil:
		return err
	case refused != nil:
		return o.answerNew(r, http.StatusUnprocessableEntity, p, refused)
	}
	return r.Redirect(p.List)
}

// load returns the object of the path.
func (o objectScreens[T]) load(r *request) (p objectPlace, object T, err error) {
	if p, err = o.place(r); err == nil {
		object, err = o.objects(r.Store).Get(r.Context(), r.Actor(), p.Page.Slug, r.PathValue(o.Argument()))
	}
	if err == nil && o.protects != nil && o.protects(r, object) {
		err = frame.ErrForbidden
	}
	return p, object, err
}

// show shows the form of an object.
func (o objectScreens[T]) show(r *request) error {
	p, object, err := o.load(r)
	if err != nil {
		return err
	}
	return o.answer(r, http.StatusOK, p, object, frame.NewForm(o.FormValues(object, p.zone)))
}

func (o objectScreens[T]) answer(r *request, status int, p objectPlace, object T, f *frame.Form) error {
	path := strings.TrimSuffix(r.URL.Path, "/")
	s := objectScreen{
		objectPlace: p, objectForm: o.form(f, p, path), Noun: o.Argument(),
		Kind:    strings.ToUpper(o.Noun[:1]) + o.Noun[1:],
		Heading: o.Name(object), Trail: o.trail, Deletion: o.deletion, Conflict: f.SavedMeanwhile != nil,
	}
	s.Tag = f.Version("tag", kernel.EntityTag(o.Audited(object)), s.Conflict)
	return r.Show(status, "object", s.Heading, s)
}

// save saves an object, unless somebody else has changed it since the form was shown.
func (o objectScreens[T]) save(r *request) error {
	p, object, err := o.load(r)
	if err != nil {
		return err
	}
	f := frame.NewForm(r.PostForm)
	_, err = o.objects(r.Store).Change(r.Context(), r.Actor(), "", o.ID(object),
		o.ReadForm(object, f.Values, p.zone, r.Now()),
		frame.UnchangedSince(f.Values))
	switch {
	case f.Refused(err):
		return o.answer(r, http.StatusUnprocessableEntity, p, object, f)
	case errors.Is(err, kernel.ErrPreconditionFailed):
		f.SavedMeanwhile = o.FormValues(object, p.zone)
		return o.answer(r, http.StatusConflict, p, object, f)
	case err != nil:
		return err
	}
	return r.Redirect(p.List)
}

// delete deletes an object.
func (o objectScreens[T]) delete(r *request) error {
	p, object, err := o.load(r)
	if err == nil {
		err = o.objects(r.Store).Delete(r.Context(), r.Actor(), "", o.ID(object), kernel.Precondition{})
	}
	if err != nil {
		return err
	}
	return r.Redirect(p.List)
}
