package statuspage_test

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"pgregory.net/rapid"
)

// TestOutputCannotLeaveItsBlock checks that no output of a job is markup: nothing in it ends the code block around it.
func TestOutputCannotLeaveItsBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		output := rapid.StringOfN(rapid.SampledFrom([]rune("`````~\n a")), 1, 40, -1).Draw(t, "output")
		block := statuspage.SystemMessage{Kind: statuspage.SystemMessageFailed, Output: output}.OutputBlock()
		fence, rest, _ := strings.Cut(block, "\n")
		inside, ended := strings.CutSuffix(rest, "\n"+fence)
		if inside != output || !ended || len(fence) < 3 || strings.Trim(fence, "`") != "" ||
			strings.Contains(output, fence) {
			t.Fatalf("OutputBlock = %q", block)
		}
	})
}
