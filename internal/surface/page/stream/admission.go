package stream

import (
	"net/http"

	"github.com/allswell/allswell/internal/shared/fair"
)

// share divides the maximum number of streams. A key that has more than one share can lose streams to other keys when
// all places are taken.
const share = 16

// admission counts the streams of a broadcaster by their keys, such as the viewer and the workspace. Any key may have
// all streams up to its own maximum. When all places are taken, a key that has more than a sixteenth of them loses one
// for each new stream of a key of the same kind that has less than half as many. So no key's streams keep the others
// out, and a popular page needs no reserve.
type admission struct {
	max   int
	open  int
	count map[fair.Key]int // by keys without their maximum
	heavy map[fair.Key]struct{}
}

func newAdmission(max int) admission {
	return admission{max: max, count: make(map[fair.Key]int), heavy: make(map[fair.Key]struct{})}
}

func bare(k fair.Key) fair.Key {
	k.Max = 0
	return k
}

// add counts a stream and returns 200, or the HTTP status of its rejection. If all places are taken, it calls evict,
// which ends a stream of a key and reports whether there was one.
func (a *admission) add(keys []fair.Key, evict func(fair.Key) bool) (status int) {
	for _, k := range keys {
		if k.Max > 0 && a.count[bare(k)] >= k.Max {
			return http.StatusTooManyRequests
		}
	}
	if a.open >= a.max && !a.makeRoom(keys, evict) {
		return http.StatusServiceUnavailable
	}
	a.open++
	for _, k := range keys {
		k = bare(k)
		if a.count[k]++; a.count[k]*share > a.max {
			a.heavy[k] = struct{}{}
		}
	}
	return http.StatusOK
}

// makeRoom ends a stream of the key that has the most streams, if a key of the same kind in keys has less than half as
// many. It reports whether it did.
func (a *admission) makeRoom(keys []fair.Key, evict func(fair.Key) bool) bool {
	var heaviest fair.Key
	most := 0
	for heavy := range a.heavy {
		for _, k := range keys {
			if k.Kind == heavy.Kind && a.count[heavy] > max(most, 2*a.count[bare(k)]+1) {
				heaviest, most = heavy, a.count[heavy]
			}
		}
	}
	return most > 0 && evict(heaviest)
}

func (a *admission) remove(keys []fair.Key) {
	a.open--
	for _, k := range keys {
		k = bare(k)
		a.count[k]--
		if a.count[k]*share <= a.max {
			delete(a.heavy, k)
		}
		if a.count[k] == 0 {
			delete(a.count, k)
		}
	}
}
