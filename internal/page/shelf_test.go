package page

import (
	"strconv"
	"testing"
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
	s.put(at(1), &cell[sheet]{}, shelfBytes+1)
	if len(s.places) != 0 || s.bytes != 0 {
		t.Errorf("after one that does not fit: %d cells, %d bytes", len(s.places), s.bytes)
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
