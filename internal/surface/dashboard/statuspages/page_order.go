package statuspages

import (
	"context"
	"errors"
	"net/http"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// orderHeader is the header with the statuspage.OrderTag of the page after a move.
const orderHeader = "Allswell-Order"

// errOrderChanged means that someone else has changed the order since it was shown.
var errOrderChanged = errors.New("the order has changed")

// placeComponent moves a component to where it was dragged: into a group, before or after another component. The script
// sends the request.
func (r *request) placeComponent() error {
	return r.place(r.PathValue("component"), r.Store.PlaceComponent)
}

// placeGroup is placeComponent for a group.
func (r *request) placeGroup() error { return r.place(r.PathValue("group"), r.Store.PlaceGroup) }

func (r *request) place(
	ref string,
	place func(ctx context.Context, actor kernel.Actor, slug, ref string, to statuspage.Place) (string, error),
) error {
	f := frame.NewForm(r.PostForm)
	to := statuspage.Place{
		GroupID: f.Value("group"), Before: f.Value("before"), After: f.Value("after"), Order: f.Value("order"),
	}
	order, err := place(r.Context(), r.Actor(), r.PathValue("page"), ref, to)
	switch {
	case f.Refused(err):
		return r.showComponentsAgain(f, frame.NewForm(nil))
	case errors.Is(err, kernel.ErrPreconditionFailed):
		return errOrderChanged
	case err != nil:
		return err
	}
	r.W.Header().Set(orderHeader, order)
	r.W.WriteHeader(http.StatusNoContent)
	return nil
}
