package api

import (
	"net/http"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/field"
	"github.com/allswell/allswell/internal/rights"
	"github.com/allswell/allswell/internal/store"
)

// resourceActions are the actions of a resource that is stored in a collection.
type resourceActions[T any] struct {
	*field.Resource[T]
	objects func(*store.Store) store.Collection[T]
	id      string // the parameter of paths that identifies an object

	reading, changing rights.Operation
}

// routes returns the routes that list, create, return, replace, change and delete objects. The caller describes the
// first two.
func (r resourceActions[T]) routes(listing, creation operation) []route {
	d := r.Describe()
	name, noun, withArticle := d.TypeName(), d.Noun, d.A()
	collection, object := "/api/v1/pages/{pageSlug}/"+d.Path, "/api/v1/"+d.Path+"/{"+r.id+"}"
	listing.id, listing.returns = "list"+name+"s", list(name)
	creation.id, creation.returns = "create"+name, created(name, "The new "+noun+".")
	it := one(name, "The "+noun+".")
	return []route{
		{http.MethodGet, collection, r.reading, r.list, listing},
		{http.MethodPost, collection, r.changing, r.create, creation},
		{http.MethodGet, object, r.reading, r.get, operation{id: "get" + name, summary: "Get " + withArticle + ".", returns: it}},
		{http.MethodPut, object, r.changing, r.put, operation{
			id: "put" + name, summary: "Replace " + withArticle + "; absent fields have their defaults.", returns: it,
		}},
		{http.MethodPatch, object, r.changing, r.change, operation{
			id: "change" + name, summary: "Change " + withArticle + "; absent fields keep their values.", returns: it,
		}},
		{http.MethodDelete, object, r.changing, r.delete, operation{id: "delete" + name, summary: "Delete " + withArticle + "."}},
	}
}

func (r resourceActions[T]) list(a *api, c *call) (store.Response, error) {
	return serveList(c, r.JSON, func(p store.Pagination) ([]T, int, error) {
		return r.objects(a.store).List(c.Context(), c.actor(), c.PathValue("pageSlug"), p)
	})
}

func (r resourceActions[T]) create(a *api, c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	response := newResponder(c, http.StatusCreated, r.JSON)
	return response.respond(r.objects(a.store).Create(c.Context(), c.actor(), c.PathValue("pageSlug"), r.Read(o, false), response.save...))
}

func (r resourceActions[T]) get(a *api, c *call) (store.Response, error) {
	v, err := r.objects(a.store).Get(c.Context(), c.actor(), c.PathValue(r.id))
	return r.tagged(c, v, err)
}

// put says all of an object: a field that is not given is empty, or has its default.
func (r resourceActions[T]) put(a *api, c *call) (store.Response, error) { return r.write(a, c, true) }

// change changes the fields that are given.
func (r resourceActions[T]) change(a *api, c *call) (store.Response, error) {
	return r.write(a, c, false)
}

func (r resourceActions[T]) write(a *api, c *call, replace bool) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	if replace { // what GET shows can be edited and sent back
		o.AllowReadOnly(r.ReadOnly()...)
	}
	v, err := r.objects(a.store).Change(c.Context(), c.actor(), c.PathValue(r.id), r.Read(o, replace), c.cond)
	return r.tagged(c, v, err)
}

func (r resourceActions[T]) delete(a *api, c *call) (store.Response, error) {
	return noContent(r.objects(a.store).Delete(c.Context(), c.actor(), c.PathValue(r.id), c.cond))
}

// tagged returns a response with an object and its entity tag, or the error of the store.
func (r resourceActions[T]) tagged(c *call, v T, err error) (store.Response, error) {
	if err != nil {
		return store.Response{}, err
	}
	c.etag = allswell.EntityTag(r.Audited(v))
	return newResponse(http.StatusOK, r.JSON(v))
}
