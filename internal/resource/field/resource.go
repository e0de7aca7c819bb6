package field

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// Resource describes the objects of a type. The field id is their id; name, or else title, is their name in the audit
// log; created_at, and updated_at if there is one, are set when they are created and changed.
type Resource[T any] struct {
	Noun   string            // such as "announcement"
	Type   string            // the name in code; "": the noun's, such as "Announcement"
	Schema string            // the name in the document; "": the name in code
	OnPage bool              // they belong to pages; otherwise to workspaces
	Nested bool              // each is addressed below its page
	Unique bool              // unique_name in a request to create one refuses a name that another on the page has
	Path   string            // in the API, such as "announcements"
	Doc    string            // what one is, such as "a notice at the top of a page"
	Object kernel.ObjectKind // in the audit log

	// Calls are the calls of the API that follow from the description, such as "create"; nil: list, create, get, put,
	// change and delete. "add" and "edit" are the requests that create and change an object of another one, such as an
	// update. Other calls are described beside their handlers.
	Calls []string

	// Rules adds the problems of fields together, or with their change. before is nil for a new object. It is called
	// for objects whose fields may be wrong on their own.
	Rules func(v, before *T, now time.Time, bad *kernel.ValidationError)

	// ReadHand reads the fields of a request that are ByHand, because they depend on each other. Its change is applied
	// before the changes of the other fields.
	ReadHand func(o *jsonobject.Object, request Request) Change[T]

	Fields []*Field[T] // in the order of the JSON

	Example T // for the API document

	// AuditMore adds what the audit log records besides the fields, or in place of one; nil: nothing.
	AuditMore func(v T, fields map[string]any)

	// Title returns the name of an object in the audit log; nil: it is the field name, or else title.
	Title func(T) string

	part             bool // see NewPart
	id, title, slug  func(*T) *string
	created, updated func(*T) *time.Time
}

// New checks a description. It panics if the description is wrong, so that no program with a wrong one starts.
func New[T any](r Resource[T]) *Resource[T] {
	r.title = func(*T) *string { return new(string) }
	named := false
	var v T
	columns, values := make(map[string]bool), make(map[any]bool)
	for _, f := range r.Fields {
		if err := f.complete(); err != nil {
			panic(fmt.Sprintf("the field %s of the %s: %v", f.info.Name, r.Noun, err))
		}
		if columns[f.info.Name] || f.info.Column() != "" && columns[f.info.Column()] {
			panic(fmt.Sprintf("two fields or columns of the %s have the name %s", r.Noun, f.info.Name))
		}
		columns[f.info.Name], columns[f.info.Column()] = true, true
		if f.info.Kind == KindConfig && !columns["type"] {
			panic(fmt.Sprintf("the %s has fields of its types before the field type, on which they depend", r.Noun))
		}
		for _, of := range f.info.Config {
			if columns[of.Name] {
				panic(fmt.Sprintf("the %s and one of its types have a field %s", r.Noun, of.Name))
			}
			columns[of.Name] = true
		}
		if f.pointer != nil {
			if values[f.pointer(&v)] {
				panic(fmt.Sprintf("the field %s of the %s has the value of another one", f.info.Name, r.Noun))
			}
			values[f.pointer(&v)] = true
		}
		switch f.info.Name {
		case "id":
			r.id = func(v *T) *string { return f.pointer(v).(*string) }
		case "name", "title":
			if !named {
				r.title = func(v *T) *string { return f.pointer(v).(*string) }
			}
			named = named || f.info.Name == "name"
		case "slug":
			r.slug = func(v *T) *string { return f.pointer(v).(*string) }
		case "created_at":
			r.created = func(v *T) *time.Time { return f.pointer(v).(*time.Time) }
		case "updated_at":
			r.updated = func(v *T) *time.Time { return f.pointer(v).(*time.Time) }
		}
	}
	if r.id == nil || r.created == nil {
		panic(fmt.Sprintf("the %s lacks id or created_at", r.Noun))
	}
	return &r
}

// ID returns the id of an object.
func (r *Resource[T]) ID(v T) string { return *r.id(&v) }

// Name returns the name or title of an object.
func (r *Resource[T]) Name(v T) string {
	if r.Title != nil {
		return r.Title(v)
	}
	return *r.title(&v)
}

// HasSlug reports whether objects have slugs.
func (r *Resource[T]) HasSlug() bool { return r.slug != nil }

// Slug points to the slug of an object; nil: these objects have none.
func (r *Resource[T]) Slug(v *T) *string {
	if r.slug == nil {
		return nil
	}
	return r.slug(v)
}

// Begin sets the id and the times of a new object, and all defaults that are not the only meaning of the zero value.
func (r *Resource[T]) Begin(v *T, id string, now time.Time) {
	*r.id(v), *r.created(v) = id, now
	if r.updated != nil {
		*r.updated(v) = now
	}
	r.SetDefaults(v)
}

// SetDefaults sets all defaults that are not the only meaning of the zero value.
func (r *Resource[T]) SetDefaults(v *T) {
	for _, f := range r.Fields {
		if f.zeroIsValue && f.fill != nil && f.has(v) {
			f.fill(v, time.Time{})
		}
	}
}

// Infos returns the descriptions of some fields, in their order; no names: of the fields that people set.
func (r *Resource[T]) Infos(names ...string) (infos []Info) {
	for _, f := range r.Fields {
		if len(names) == 0 && !f.info.ReadOnly {
			infos = append(infos, f.info)
		}
	}
	for _, name := range names {
		for _, f := range r.Fields {
			if f.info.Name == name {
				infos = append(infos, f.info)
			}
		}
	}
	return infos
}

// Info returns the description of a field. It panics if there is no field with this name.
func (r *Resource[T]) Info(name string) Info {
	infos := r.Infos(name)
	if len(infos) == 0 {
		panic(fmt.Sprintf("the %s has no field %s", r.Noun, name))
	}
	return infos[0]
}

// Only returns the resource with some of its fields, and with nothing that is read by hand.
func (r *Resource[T]) Only(names ...string) *Resource[T] {
	some := *r
	some.ReadHand = nil
	some.Fields = slices.DeleteFunc(slices.Clone(r.Fields), func(f *Field[T]) bool {
		return !slices.Contains(names, f.info.Name)
	})
	return &some
}

// ReadOnly returns the names of the fields that only the service sets.
func (r *Resource[T]) ReadOnly() (names []string) {
	for _, f := range r.Fields {
		if f.info.ReadOnly {
			names = append(names, f.info.Name)
		}
	}
	return names
}

// JSON returns an object in JSON, without its details.
func (r *Resource[T]) JSON(v T) json.RawMessage { return r.json(v, false) }

// DetailJSON returns an object in JSON, with its details.
func (r *Resource[T]) DetailJSON(v T) json.RawMessage { return r.json(v, true) }

func (r *Resource[T]) json(v T, details bool) json.RawMessage {
	b := append(make([]byte, 0, 1024), '{') // most objects fit
	for _, f := range r.Fields {
		if f.info.WriteOnly || f.info.Detail && !details || f.info.Once && f.isZero(&v) {
			continue
		}
		if f.info.Kind == KindConfig {
			b = appendMembers(b, f.json(&v))
			continue
		}
		b = appendMember(b, f.info.Name, f.json(&v))
	}
	return append(b, '}')
}

// appendMember appends a member of an object in JSON. Its name is plain: see Field.complete.
func appendMember(b []byte, name string, value any) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return appendValue(append(append(append(b, '"'), name...), '"', ':'), value)
}

// appendValue appends a value in JSON.
func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case string:
		if isPlain(v) {
			return append(append(append(b, '"'), v...), '"')
		}
	case []string:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, item)
		}
		return append(b, ']')
	}
	text, err := jsonobject.Marshal(value)
	if err != nil {
		panic(err) // texts, numbers, booleans and lists of them always marshal
	}
	return append(b, bytes.TrimSuffix(text, []byte("\n"))...)
}

// isPlain reports whether a text has only ASCII characters that need no escape in JSON.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Audited returns an object as the audit log records it, with the fields that people set.
func (r *Resource[T]) Audited(v T) kernel.Auditable {
	fields, unset := make(map[string]any), make(map[string]bool)
	object := kernel.AuditObject{Kind: r.Object, ID: *r.id(&v), Name: r.Name(v), Fields: fields, Unset: unset}
	for _, f := range r.Fields {
		switch {
		case f.audit == nil, f.info.ReadOnly && !(f.info.Audited && !f.isZero(&v)):
		case f.info.Kind == KindOwn:
			maps.Copy(fields, f.audit(&v).(map[string]any))
		case f.info.Kind == KindConfig:
			maps.Copy(fields, f.audit(&v).(map[string]any))
			object.Secrets = f.config(&v).Versions
		default:
			fields[f.info.Name] = f.audit(&v)
			if f.info.OfSome && f.isDefault(&v) {
				unset[f.info.Name] = true
			}
		}
	}
	if r.AuditMore != nil {
		r.AuditMore(v, fields)
	}
	return audited{object}
}

type audited struct{ object kernel.AuditObject }

func (a audited) AuditObject() kernel.AuditObject { return a.object }

// Pack returns the JSON object of a column with the fields that are packed into it. It lacks zero values.
func (r *Resource[T]) Pack(column string, v *T) string {
	b := []byte{'{'}
	for _, f := range r.Fields {
		if f.info.Packed == column && !f.isZero(v) {
			b = appendMember(b, f.info.Name, f.json(v))
		}
	}
	return string(append(b, '}'))
}

// Unpack sets the fields of a zero object that are packed into a column.
func (r *Resource[T]) Unpack(column, text string, v *T) error {
	o, err := jsonobject.Parse([]byte(text))
	if err != nil {
		return err
	}
	o.AllowUnknown() // of a later version
	for _, f := range r.Fields {
		if f.info.Packed == column {
			if set := f.read(o, false); set != nil {
				_ = set(v) // only configurations refuse values, and they have columns of their own
			}
		}
	}
	return o.Check(nil)
}

// Change changes an object. The error is a *kernel.ValidationError on values that could not be read; all others are
// set. It is applied to what is stored, within the transaction.
type Change[T any] func(*T) error

// Read reads the fields of a request. In a Replacement, a field that is not given becomes empty or gets its default,
// unless it is Kept.
func (r *Resource[T]) Read(o *jsonobject.Object, request Request) Change[T] {
	var sets []Change[T]
	if r.ReadHand != nil {
		sets = append(sets, r.ReadHand(o, request))
	}
	for _, f := range r.Fields {
		if !f.info.In(request) {
			continue
		}
		set := Change[T](func(*T) error { return nil }) // ReadHand has set it
		if !f.info.ByHand {
			set = f.read(o, request == Replacement)
		}
		if set == nil && r.ReadHand != nil && request == Creation && f.zeroIsValue && f.fill != nil {
			set = f.clear // ReadHand may have set all fields to their zero values
		}
		if set != nil {
			sets = append(sets, f.ifItHas(set, f.when != nil && o.Given(f.info.Name)))
		}
	}
	change, unread := changeOf(sets, nil), o.Check(nil)
	return func(v *T) error {
		invalid := change(v)
		return kernel.JoinInvalid(r.withoutLacking(v, unread, invalid), invalid)
	}
}

// withoutLacking returns unread, with the problems of fields that the object does not have replaced by one refusal per
// field. It omits the refusal if invalid already has it.
func (r *Resource[T]) withoutLacking(v *T, unread, invalid error) error {
	var bad, more *kernel.ValidationError
	if !errors.As(unread, &bad) {
		return unread
	}
	var left kernel.ValidationError
	for _, p := range bad.Problems {
		name, _, _ := strings.Cut(p.Field, ".")
		i := slices.IndexFunc(r.Fields, func(f *Field[T]) bool { return f.info.Name == name && !f.has(v) })
		switch {
		case i < 0:
			left.Problems = append(left.Problems, p)
		case !left.Has(name) && !(errors.As(invalid, &more) && more.Has(name)):
			r.Fields[i].refuse(v, &left)
		}
	}
	return left.Err()
}

// ifItHas returns the change that sets a value if the object has the field. Otherwise, a value that was given is an
// error.
func (f *Field[T]) ifItHas(set Change[T], given bool) Change[T] {
	if f.when == nil {
		return set
	}
	return func(v *T) error {
		if !given || f.when(v) {
			return set(v)
		}
		var bad kernel.ValidationError
		f.refuse(v, &bad)
		return bad.Err()
	}
}

// From returns the change that sets all fields which are not zero in an object.
func (r *Resource[T]) From(v T) Change[T] {
	return func(to *T) error {
		var errs []error
		for _, f := range r.Fields {
			if !f.info.ReadOnly && !f.isZero(&v) {
				errs = append(errs, f.copy(to, &v))
			}
		}
		return kernel.JoinInvalid(errs...)
	}
}

// changeOf returns the change that applies others, in order. err is the error of values that could not be read.
func changeOf[T any](changes []Change[T], err error) Change[T] {
	return func(v *T) error {
		errs := []error{err}
		for _, change := range changes {
			errs = append(errs, change(v))
		}
		return kernel.JoinInvalid(errs...)
	}
}

// ReadForm reads the values of a form for an object, which has no id if it is new. Values that equal the stored
// object's are not set, because a form shows times without their seconds.
func (r *Resource[T]) ReadForm(before T, values url.Values, zone *time.Location, now time.Time) Change[T] {
	var (
		sets []Change[T]
		bad  kernel.ValidationError
	)
	request := Changing
	if r.ID(before) == "" {
		request = Creation
	}
	for _, f := range r.Fields {
		texts := values[f.info.Name]
		if !f.info.In(request) || f.format == nil || len(texts) == 0 ||
			request == Changing && slices.EqualFunc(texts, f.format(&before, zone), sameLines) {
			continue
		}
		set, err := f.parse(texts, zone, now)
		if f.info.Default != "" && len(texts) == 1 && texts[0] == "" {
			set, err = f.clear, nil
		}
		if err != nil {
			bad.Add(f.info.Name, "%s.", strings.ToUpper(err.Error()[:1])+err.Error()[1:])
			continue
		}
		sets = append(sets, set)
	}
	return changeOf(sets, bad.Err())
}

// sameLines reports whether two texts of a form differ at most in the ends of their lines, which browsers change.
func sameLines(a, b string) bool {
	return strings.ReplaceAll(a, "\r\n", "\n") == strings.ReplaceAll(b, "\r\n", "\n")
}

// FormValues returns what a form shows of an object.
func (r *Resource[T]) FormValues(v T, zone *time.Location) url.Values {
	values := url.Values{}
	for _, f := range r.Fields {
		if !f.info.ReadOnly && f.format != nil {
			values[f.info.Name] = f.format(&v, zone)
		}
	}
	return values
}

// Create changes a new object, and completes and checks it. The error is a *kernel.ValidationError with every
// invalid field.
func (r *Resource[T]) Create(v *T, change Change[T], now time.Time) error {
	return r.finish(v, nil, change(v), now)
}

// Apply changes an object that is stored, and completes and checks it. If a field changes, so does the time of its last
// change. A value that does not change is not checked on its own: it stays, even if it would not be accepted today. The
// error is a *kernel.ValidationError with every invalid field; the object must not be used then.
func (r *Resource[T]) Apply(v *T, change Change[T], now time.Time) error {
	before := *v
	err := r.finish(v, &before, change(v), now)
	if r.updated != nil && !reflect.DeepEqual(r.Audited(before), r.Audited(*v)) {
		*r.updated(v) = kernel.Later(now, *r.updated(v))
	}
	return err
}

// finish sets defaults and checks an object. err is the error of values that could not be read.
func (r *Resource[T]) finish(v, before *T, err error, now time.Time) error {
	var bad kernel.ValidationError
	for _, f := range r.Fields {
		if f.info.ReadOnly {
			continue
		}
		if f.fill != nil && !f.zeroIsValue && f.has(v) && f.isZero(v) {
			f.fill(v, now)
		}
		if f.settle != nil && (before == nil || !reflect.DeepEqual(f.json(before), f.json(v))) {
			f.settle(v)
		}
		if !f.has(v) && !f.isZero(v) && (before == nil || !reflect.DeepEqual(f.pointer(before), f.pointer(v))) {
			f.refuse(v, &bad)
		} else if before == nil || !reflect.DeepEqual(f.json(before), f.json(v)) {
			f.check(v, &bad)
		}
	}
	// only a new object's slug is made from its name
	if r.slug != nil && before != nil && *r.slug(v) == "" && *r.slug(before) != "" && len(bad.Of("slug")) == 0 {
		bad.Add("slug", kernel.Required)
	}
	if r.Rules != nil {
		r.Rules(v, before, now, &bad)
	}
	return kernel.JoinUnread(err, bad.Err())
}
