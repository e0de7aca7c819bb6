package dashboard

import (
	"context"
	"errors"
	"net/http"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// orderHeader is the header with the statuspage.OrderTag of the page after a move.
const orderHeader = "Allswell-Order"

// errOrderChanged means that somebody else has changed the order since it was shown.
var errOrderChanged = errors.New("the order has changed")

// placeComponent puts a component where it was dragged to: into a group, before or after a component. It is the
// script's request.
func (v *visit) placeComponent() error {
	return v.place(v.r.PathValue("component"), v.store.PlaceComponent)
}

// placeGroup is placeComponent for a group.
func (v *visit) placeGroup() error { return v.place(v.r.PathValue("group"), v.store.PlaceGroup) }

func (v *visit) place(
	ref string,
	place func(ctx context.Context, actor kernel.Actor, slug, ref string, to statuspage.Place) (string, error),
) error {
	f := newForm(v.r.PostForm)
	to := statuspage.Place{
		GroupID: f.Value("group"), Before: f.Value("before"), After: f.Value("after"), Order: f.Value("order"),
	}
	order, err := place(v.r.Context(), v.actor(), v.r.PathValue("page"), ref, to)
	switch {
	case f.refused(err):
		return v.showComponentsAgain(f, newForm(nil))
	case errors.Is(err, kernel.ErrPreconditionFailed):
		return errOrderChanged
	case err != nil:
		return err
	}
	v.w.Header().Set(orderHeader, order)
	v.w.WriteHeader(http.StatusNoContent)
	return nil
}
