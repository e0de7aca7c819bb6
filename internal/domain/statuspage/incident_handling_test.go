package statuspage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestMergeIsLimited: an incident affects at most MaxAffectedComponents, also after a merge. Components of both count
// once.
func TestMergeIsLimited(t *testing.T) {
	affecting := func(id string, first, n int) statuspage.Incident {
		i := statuspage.Incident{ID: id}
		for c := first; c < first+n; c++ {
			i.Affected = append(i.Affected, statuspage.AffectedComponent{
				ComponentID: fmt.Sprint("comp_", c), Status: kernel.StatusDegraded,
			})
		}
		return i
	}
	from, bad := affecting("1", 0, 10), new(kernel.ValidationError)
	if err := from.CheckMerge(affecting("2", 5, statuspage.MaxAffectedComponents-5)); err != nil {
		t.Errorf("with as many as possible: %v", err)
	}
	err := from.CheckMerge(affecting("2", 6, statuspage.MaxAffectedComponents-5))
	if !errors.As(err, &bad) || !bad.Has("incident_id") {
		t.Errorf("with one too many: %v", err)
	}
}
