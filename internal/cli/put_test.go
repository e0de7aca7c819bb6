package cli

import (
	"net/http"
	"testing"

	"github.com/allswell/allswell/internal/console"
)

// TestPutUsage checks that invalid command lines send nothing.
func TestPutUsage(t *testing.T) {
	for _, args := range []string{
		"component put|--page=acme|API|--name=x", "component put|--page=acme|mon_1|--name=x", "component put|api|--name=x",
		"monitor put|Nightly|--page=acme|--name=x|--interval=1h", "monitor put|comp_1|--page=acme|--name=x|--interval=1h",
		"component put|--page=acme|api|--name=x|--if-match=*|--create-only",
	} {
		status, stdout, stderr := against(t, func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("%s: %s %s", args, r.Method, r.URL)
		}, expand(args)...)
		if status != console.ExitUsage || stdout != "" || stderr == "" {
			t.Errorf("%s: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
}
