package api

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/store"
)

// checkSlug adds an error if the slug in the body differs from the slug in the path.
func checkSlug(o *jsonobject.Object, slug string) {
	if given := o.Text("slug"); given != nil && *given != slug {
		o.Reject("slug", "must be the one in the address, or left out")
	}
}

// putResponse returns the response to a PUT: 201 for a new resource, else 200.
func putResponse[T kernel.Auditable, J any](
	c *call, v T, created bool, err error, toJSON func(T) J,
) (store.Response, error) {
	response, err := taggedResponse(c, v, err, toJSON)
	if created {
		response.Status = http.StatusCreated
	}
	return response, err
}

// allowReadOnly accepts and ignores the fields of J that no accessor reads.
func allowReadOnly[J any](o *jsonobject.Object) { o.AllowReadOnly(namesOf[J]()...) }

// namesOf returns the names of the fields of a JSON struct.
func namesOf[J any]() (names []string) {
	for field := range reflect.TypeFor[J]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (a *api) putMonitor(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	ref := c.PathValue("monitorId")
	if kernel.ValidSlug(ref) {
		checkSlug(o, ref)
	}
	o.AllowReadOnly(append(resource.Monitor.ReadOnly(), "paused_until")...)
	o.Flag("unique_name")
	monitor, created, err := a.store.PutMonitor(c.Context(), c.actor(), ref, readMonitor(o, field.Replacement), c.cond)
	return monitorActions.upserted(a, c, monitor, created, err)
}
