package api

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

// resourceActions are the actions of a resource that is stored in a collection.
type resourceActions[T any] struct {
	*field.Resource[T]
	objects func(*store.Store) store.Collection[T]
	id      string // the parameter of paths that identifies an object

	reading, changing rights.Operation

	putText, changeText, deletion string // more text of the operations PUT, PATCH and DELETE; "": none
	byPage                        string // the text of ?page_slug in lists; "": they have no such parameter

	// complete sets fields of a response that are not stored; nil: there are none.
	complete func(*api, *call, *T)

	query []parameter // more query parameters of get, change and delete
}

// routes returns the routes that list, create, return, replace, change and delete objects, as far as the resource has
// them. listing and creation describe the first two.
func (r resourceActions[T]) routes(listing, creation operation) []route {
	d := r.Describe()
	name, schema, noun, withArticle := d.TypeName(), d.SchemaName(), d.Noun, d.A()
	collection, object := "/api/v1/"+d.Path, "/api/v1/"+d.Path+"/{"+r.id+"}"
	if d.OnPage {
		collection = "/api/v1/pages/{pageSlug}/" + d.Path
	}
	replaced := object
	if d.OnPage && d.Slug { // so that it can be an object that does not exist
		replaced = collection + "/{" + r.id + "}"
	}
	if r.byPage != "" {
		listing.query = append(listing.query, parameter{name: "page_slug", schema: anyText, text: r.byPage})
	}
	listing.id, listing.returns = cmp.Or(listing.id, "list"+name+"s"), list(schema)
	creation.id, creation.returns = "create"+name, created(schema, "The new "+noun+".")
	it := one(schema, "The "+noun+".")
	replacement := operation{
		id: "put" + name, summary: "Replace " + withArticle + "; absent fields have their defaults.", returns: it,
		tagged: true,
	}
	if d.Slug {
		replacement.summary = "Create or replace " + withArticle + " by its slug."
		replacement.text = r.replacementText()
		replacement.returns = upserted(schema, "The replaced "+noun+".", "The new "+noun+".")
	}
	all := []struct {
		call string
		route
	}{
		{"list", route{http.MethodGet, collection, r.reading, r.list, listing}},
		{"create", route{http.MethodPost, collection, r.changing, r.create, creation}},
		{"get",
			route{
				http.MethodGet, object, r.reading, r.get,
				operation{
					id: "get" + name, summary: "Get " + withArticle + ".", query: r.query, returns: it, tagged: true,
				},
			}},
		{"put", route{http.MethodPut, replaced, r.changing, r.put, replacement}},
		{"change", route{http.MethodPatch, object, r.changing, r.change, operation{
			id: "change" + name, summary: "Change " + withArticle + "; absent fields keep their values.",
			text: r.changeText, query: r.query, returns: it, tagged: true,
		}}},
		{"delete", route{http.MethodDelete, object, r.changing, r.delete, operation{
			id: "delete" + name, summary: "Delete " + withArticle + ".", text: r.deletion, query: r.query, tagged: true,
		}}},
	}
	var routes []route
	for _, described := range all {
		if d.Has(described.call) {
			routes = append(routes, described.route)
		}
	}
	return routes
}

// replacementText returns the description of a PUT of an object with a slug.
func (r resourceActions[T]) replacementText() string {
	var kept []string
	for _, f := range r.Infos() {
		if f.Kept && f.Kind != field.KindSlug {
			kept = append(kept, "`"+f.Name+"`")
		}
	}
	text := "Creates the " + r.Noun +
		" with the slug in the path, or replaces what it is configured as: absent fields get " +
		"their defaults."
	if len(kept) > 0 {
		text += " An absent " + strings.Join(kept, " or ") + " is kept."
	}
	if r.putText != "" {
		text += " " + r.putText
	}
	text += " `If-Match` with the `ETag` of an earlier response replaces only that version; `If-None-Match: *` only " +
		"creates."
	if !r.Describe().BySlug {
		text += " Given by its id, it is only replaced, and `slug` can change."
	}
	return text
}

// page returns the slug of the page of the request: from the path, or from the query for an object that is given by its
// slug, or "".
func (r resourceActions[T]) page(c *call) (string, error) {
	if page := c.PathValue("pageSlug"); page != "" || !r.OnPage {
		return page, nil
	}
	return readPageSlug(c)
}

func (r resourceActions[T]) list(a *api, c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	page, filter := c.PathValue("pageSlug"), store.Filter{}
	if r.OnPage && r.HasSlug() {
		filter = readFilter(q)
	}
	if r.byPage != "" {
		page = q.Text("page_slug")
	}
	return servePage(q, r.shown(a, c), func(p store.Pagination) ([]T, int, error) {
		return r.objects(a.store).List(c.Context(), c.actor(), page, filter, p)
	})
}

func (r resourceActions[T]) create(a *api, c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	objects := r.objects(a.store)
	if r.Unique {
		objects = objects.UniqueNames(optional.Value(o.Flag("unique_name")))
	}
	response := newResponder(c, http.StatusCreated, r.shown(a, c))
	return response.respond(objects.Create(c.Context(), c.actor(), c.PathValue("pageSlug"), r.Read(o, field.Creation),
		response.save...))
}

func (r resourceActions[T]) get(a *api, c *call) (store.Response, error) {
	page, err := r.page(c)
	if err != nil {
		return store.Response{}, err
	}
	v, err := r.objects(a.store).Get(c.Context(), c.actor(), page, c.PathValue(r.id))
	return r.tagged(a, c, v, err)
}

// put replaces an object: absent fields become empty or get their defaults. An object that is given by its slug is
// created if it does not exist.
func (r resourceActions[T]) put(a *api, c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	ref := c.PathValue(r.id)
	if kernel.ValidSlug(ref) {
		checkSlug(o, ref)
	}
	o.AllowReadOnly(r.ReadOnly()...) // what GET shows can be edited and sent back
	if r.Unique {
		o.Flag("unique_name") // so can what has created the object
	}
	page, err := r.page(c)
	if err != nil {
		return store.Response{}, err
	}
	v, isNew, err := r.objects(a.store).Put(c.Context(), c.actor(), page, ref, r.Read(o, field.Replacement), c.cond)
	return r.upserted(a, c, v, isNew, err)
}

// upserted is tagged for a PUT. The status is 201 for a new object.
func (r resourceActions[T]) upserted(a *api, c *call, v T, isNew bool, err error) (store.Response, error) {
	response, err := r.tagged(a, c, v, err)
	if isNew && err == nil {
		response.Status = http.StatusCreated
	}
	return response, err
}

// change changes the fields that the body has.
func (r resourceActions[T]) change(a *api, c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	page, err := r.page(c)
	if err != nil {
		return store.Response{}, err
	}
	v, err := r.objects(a.store).Change(c.Context(), c.actor(), page, c.PathValue(r.id), r.Read(o, field.Changing),
		c.cond)
	return r.tagged(a, c, v, err)
}

func (r resourceActions[T]) delete(a *api, c *call) (store.Response, error) {
	page, err := r.page(c)
	if err != nil {
		return store.Response{}, err
	}
	return noContent(r.objects(a.store).Delete(c.Context(), c.actor(), page, c.PathValue(r.id), c.cond))
}

// shown returns the function that presents objects in the responses to a request.
func (r resourceActions[T]) shown(a *api, c *call) func(T) json.RawMessage {
	return func(v T) json.RawMessage {
		if r.complete != nil {
			r.complete(a, c, &v)
		}
		return r.JSON(v)
	}
}

// tagged returns a response with an object and its entity tag, or the error of the store.
func (r resourceActions[T]) tagged(a *api, c *call, v T, err error) (store.Response, error) {
	if err != nil {
		return store.Response{}, err
	}
	c.etag = kernel.EntityTag(r.Audited(v))
	return newResponse(http.StatusOK, r.shown(a, c)(v))
}
