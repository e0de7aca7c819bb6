package api

import (
	"net/http"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/web"
)

// precondition reads the headers If-Match and If-None-Match. Weak entity tags match
// nothing (RFC 9110, section 13.1.1).
func (c *call) precondition() (allswell.Precondition, error) {
	var p allswell.Precondition
	var bad allswell.ValidationError
	switch match := strings.Join(c.Header.Values("If-Match"), ","); match {
	case "":
	case "*":
		p.Exists = true
	default:
		for tag := range strings.SplitSeq(match, ",") {
			p.Tags = append(p.Tags, strings.TrimSpace(tag))
		}
	}
	switch none := c.Header.Get("If-None-Match"); none {
	case "":
	case "*":
		p.New = true
	default:
		bad.Add("If-None-Match", "The If-None-Match header of a PUT must be *.")
	}
	return p, bad.Err()
}

// checkSlug adds an error if the body has another slug than the path.
func checkSlug(o *web.Object, slug string) {
	if given := o.Text("slug"); given != nil && *given != slug {
		var bad allswell.ValidationError
		bad.Add("slug", "The slug must be the one in the address, or left out.")
		o.Check(bad.Err())
	}
}

// taggedResponse is resourceResponse with the resource's entity tag.
func taggedResponse[T allswell.Auditable, J any](c *call, v T, err error, toJSON func(T) J) (store.StoredResponse, error) {
	if err == nil {
		c.etag = allswell.EntityTag(v)
	}
	return resourceResponse(v, err, toJSON)
}

// putResponse returns the response to a PUT: 201 for a new resource, else 200.
func putResponse[T allswell.Auditable, J any](c *call, v T, created bool, err error, toJSON func(T) J) (store.StoredResponse, error) {
	response, err := taggedResponse(c, v, err, toJSON)
	if created {
		response.Status = http.StatusCreated
	}
	return response, err
}

// put reads the precondition and the body of a PUT with the fields that read returns.
func put[N any](c *call, read func(*web.Object) (N, error)) (n N, cond allswell.Precondition, err error) {
	if cond, err = c.precondition(); err != nil {
		return n, cond, err
	}
	o, err := c.object()
	if err != nil {
		return n, cond, err
	}
	n, err = read(o)
	return n, cond, o.Check(err)
}

func (a *api) putPage(c *call) (store.StoredResponse, error) {
	slug := c.PathValue("pageSlug")
	n, cond, err := put(c, func(o *web.Object) (allswell.NewPage, error) {
		checkSlug(o, slug)
		return a.readNewPage(o, slug)
	})
	if err != nil {
		return store.StoredResponse{}, err
	}
	page, created, err := a.store.PutPage(c.Context(), c.actor(), n, cond)
	return putResponse(c, page, created, err, c.newPageJSON)
}

func (a *api) putComponent(c *call) (store.StoredResponse, error) {
	ref := c.PathValue("componentId")
	n, cond, err := put(c, func(o *web.Object) (allswell.NewComponent, error) {
		checkSlug(o, ref)
		return readNewComponent(o, "")
	})
	if err != nil {
		return store.StoredResponse{}, err
	}
	component, created, err := a.store.PutComponent(c.Context(), c.actor(), c.PathValue("pageSlug"), ref, n, cond)
	return putResponse(c, component, created, err, newComponentJSON)
}

func (a *api) putMonitor(c *call) (store.StoredResponse, error) {
	ref := c.PathValue("monitorId")
	n, cond, err := put(c, func(o *web.Object) (allswell.NewMonitor, error) {
		checkSlug(o, ref)
		return readNewMonitor(o, "")
	})
	if err != nil {
		return store.StoredResponse{}, err
	}
	monitor, created, err := a.store.PutMonitor(c.Context(), c.actor(), ref, n, cond)
	return putResponse(c, monitor, created, err, c.newMonitorJSON)
}
