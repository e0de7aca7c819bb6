package frame

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestBrokenExportsBreakOff checks that a list that cannot be read to its end is no complete download.
func TestBrokenExportsBreakOff(t *testing.T) {
	v := &Request{
		Frame: &Frame{Exports: newExports(), Log: slog.New(slog.DiscardHandler)},
		W:     httptest.NewRecorder(), Request: httptest.NewRequest("GET", "/", nil),
	}
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler {
			t.Errorf("recovered %v", cause)
		}
		if v.Exports.Free() != MaxExports {
			t.Error("the place is not free again")
		}
	}()
	err := SendCSV(v, CSVExport[string]{
		Name: "letters", File: "letters.csv", Header: []string{"letter"},
		Row: func(s string) []string { return []string{s} }, ID: func(s string) string { return s },
		Read: func(before string) ([]string, bool, error) {
			if before == "" {
				return []string{"a"}, true, nil
			}
			return nil, false, errors.New("the database has gone away")
		},
	})
	t.Errorf("a broken download ended with %v", err)
}
