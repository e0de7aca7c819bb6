package allswell_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/allswell/allswell"
)

// TestMergeIsLimited: an incident affects at most MaxAffectedComponents, also after a merge. Components of both count once.
func TestMergeIsLimited(t *testing.T) {
	affecting := func(id string, first, n int) allswell.Incident {
		i := allswell.Incident{ID: id}
		for c := first; c < first+n; c++ {
			i.Affected = append(i.Affected, allswell.AffectedComponent{ComponentID: fmt.Sprint("comp_", c), Status: allswell.StatusDegraded})
		}
		return i
	}
	from, bad := affecting("1", 0, 10), new(allswell.ValidationError)
	if err := from.CheckMerge(affecting("2", 5, allswell.MaxAffectedComponents-5)); err != nil {
		t.Errorf("with as many as possible: %v", err)
	}
	if err := from.CheckMerge(affecting("2", 6, allswell.MaxAffectedComponents-5)); !errors.As(err, &bad) || !bad.Has("incident_id") {
		t.Errorf("with one too many: %v", err)
	}
}
