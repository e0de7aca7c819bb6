package page

import (
	"context"
	"strconv"
	"testing"
	"time"
)

func TestShelfIsBounded(t *testing.T) {
	s, e := newShelf[cell[sheet]](shelfBytes), &entry{}
	at := func(i int) place { return place{entry: e, kind: "incident", name: strconv.Itoa(i)} }
	first := &cell[sheet]{}
	s.put(at(-1), first, 10)
	for i := range 3 * shelfPlaces {
		s.put(at(i), &cell[sheet]{}, 10)
		if s.find(at(-1)) != first {
			t.Fatalf("what is used all the time was pushed out by number %d", i)
		}
	}
	if len(s.places) != shelfPlaces || s.order.Len() != shelfPlaces || s.bytes != 10*shelfPlaces {
		t.Errorf("%d cells, %d in order, %d bytes", len(s.places), s.order.Len(), s.bytes)
	}
	if s.find(at(0)) != nil {
		t.Error("the least recently used is still there")
	}

	s.put(at(0), &cell[sheet]{}, shelfBytes-5)
	if len(s.places) != 1 || s.bytes != shelfBytes-5 {
		t.Errorf("after a big one: %d cells, %d bytes", len(s.places), s.bytes)
	}
	s.put(at(0), &cell[sheet]{}, 7) // made anew, and smaller now
	if len(s.places) != 1 || s.bytes != 7 {
		t.Errorf("after it shrank: %d cells, %d bytes", len(s.places), s.bytes)
	}
	s.put(at(1), &cell[sheet]{}, shelfBytes+1) // it is kept, or each request would render it
	if len(s.places) != 1 || s.find(at(1)) == nil {
		t.Errorf("after one that does not fit: %d cells, %d bytes", len(s.places), s.bytes)
	}
	s.put(at(2), &cell[sheet]{}, 10)
	if len(s.places) != 1 || s.bytes != 10 || len(s.shares) != 1 {
		t.Errorf("after a small one: %d cells, %d bytes, %d pages", len(s.places), s.bytes, len(s.shares))
	}
}

// TestShelfIsShared: a page with large documents pushes out its own.
func TestShelfIsShared(t *testing.T) {
	s, big, small := newShelf[cell[sheet]](shelfBytes), &entry{}, &entry{}
	for i := range 100 {
		s.put(place{entry: small, kind: "incident", name: strconv.Itoa(i)}, &cell[sheet]{}, 1000)
	}
	for i := range 50 {
		s.put(place{entry: big, kind: "incident", name: strconv.Itoa(i)}, &cell[sheet]{}, shelfBytes/8)
	}
	for i := range 100 {
		if s.find(place{entry: small, kind: "incident", name: strconv.Itoa(i)}) == nil {
			t.Fatalf("%d of the small page was pushed out", i)
		}
	}
	if s.bytes > shelfBytes || s.find(place{entry: big, kind: "incident", name: "49"}) == nil {
		t.Errorf("%d bytes", s.bytes)
	}
}

func TestShelfMakesOneCellForAPlace(t *testing.T) {
	s := newShelf[cell[sheet]](shelfBytes)
	p := place{entry: &entry{}, kind: "history", name: "2026-11"}
	a, b := &cell[sheet]{}, &cell[sheet]{}
	if s.begin(p, a) != a || s.begin(p, b) != a || s.find(p) != a {
		t.Error("a second cell began while the first was being made")
	}
	s.drop(p)
	if s.find(p) != nil || s.begin(p, b) != b {
		t.Error("a failed making stays in the way")
	}
	s.put(p, b, 1)
	if len(s.making) != 0 || s.begin(p, a) != b {
		t.Error("what was made is not found")
	}
}

// TestNothingIsKeptOfAPanic: a load that panics leaves nothing behind.
func TestNothingIsKeptOfAPanic(t *testing.T) {
	run(t, func(w *world) {
		p := place{entry: &entry{slug: "acme"}, kind: "incident", name: "1"}
		_, err := fromShelf(w.t.Context(), w.site, w.site.shelf, p, (*sheet).size, func(context.Context) (*sheet, time.Time, error) {
			panic("not foreseen")
		})
		if err == nil || len(w.site.shelf.making) != 0 {
			w.t.Errorf("error %v, %d are still being made", err, len(w.site.shelf.making))
		}
	})
}
