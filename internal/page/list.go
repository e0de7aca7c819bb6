package page

import (
	"context"
	"net/http"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/store"
)

const (
	// maxListed is how many pages "/" lists, the oldest ones.
	maxListed = 200

	// listAge is how long the list lasts though nothing was committed. A list
	// that cannot be loaded again is served, and says that it is old when it is
	// listAge + delayedAfter old.
	listAge = time.Minute
)

// pageList is the list of pages at "/". It is loaded in one query and not from
// the pages' snapshots, so that no page can hold up the others.
type pageList struct {
	store.PageIndex
	loaded     time.Time // by the host's clock
	renditions renditions
}

func (s *Site) loadList(ctx context.Context) (*pageList, time.Time, error) {
	index, err := s.store.PageIndex(ctx, maxListed)
	if err != nil {
		return nil, time.Time{}, err
	}
	now := s.now()
	list := &pageList{PageIndex: index, loaded: now}
	list.renditions = newRenditions(func(f facet) screen { return listScreen(s.anywhere(f), index) })
	return list, now.Add(listAge), nil
}

// serveFront answers "/": the only page, or the list of them, or what to do
// when there is none.
func (s *Site) serveFront(w http.ResponseWriter, r *http.Request) {
	list, err := s.list.get(r.Context())
	switch {
	case list == nil:
		s.failFor(w, r, err)
	case list.Total == 0:
		s.firstStep.ServeHTTP(w, r)
	case list.Total == 1:
		s.visitSlug(w, r, list.Pages[0].Slug, "")
	default:
		s.serveList(w, r, list)
	}
}

func (s *Site) serveList(w http.ResponseWriter, r *http.Request, list *pageList) {
	var f facet
	f.lang, f.chosen = languageFor(r, "")
	sh, err := list.renditions[f]()
	switch {
	case err != nil:
		s.complain("the list of status pages could not be rendered", "", err)
		s.failFor(w, r, err)
	case s.now().Sub(list.loaded) > listAge+delayedAfter:
		s.serveDelayed(w, r, sh, list.loaded)
	default:
		s.serveSheet(w, r, sh)
	}
}

// listScreen lays out the list of pages, and says how many it leaves out.
func listScreen(at where, index store.PageIndex) screen {
	worst := allswell.StatusOperational
	b := listBody{More: index.Total - len(index.Pages)}
	for _, p := range index.Pages {
		if p.Status.Worse(worst) {
			worst = p.Status
		}
		b.Pages = append(b.Pages, listedPage{at.link("/status/" + p.Slug), nameOf(p.Name), p.Status})
	}
	f := frame{
		At: at, Title: at.lang.T("list.heading"), Description: at.lang.T("list.description"),
		Path: "/", Status: worst, AsOf: at.moment(index.AsOf),
	}
	return screen{f, b}
}
