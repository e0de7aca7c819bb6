package i18ntest_test

import (
	"slices"
	"testing"

	"github.com/allswell/allswell/internal/shared/i18n/i18ntest"
)

func TestLeftovers(t *testing.T) {
	en := i18ntest.Language(t, "en")
	text := en.T("status.no_such") + " and " + en.T("bars.lasted", "status", "Monday") + ", " + en.T("page.skip") +
		". Status. error.not_found.heading"
	got, want := i18ntest.Leftovers(text), []string{"status.no_such", "{duration}", "error.not_found.heading"}
	if !slices.Equal(got, want) {
		t.Errorf("Leftovers = %q, want %q", got, want)
	}
}
