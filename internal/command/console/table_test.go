package console

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestTable prints a table for terminals of several widths.
func TestTable(t *testing.T) {
	rows := [][]string{
		{"ID", "STATE", "OPENED", "TITLE"},
		{"01a2045a-4c1c", "investigating", "2026-11-21 04:00:00 +01:00", "Checkout fails for all"},
		{"01a2045a-4c1d", "resolved", "2026-11-20 04:00:00 +01:00", "漢字漢字漢字"},
	}
	for width, want := range map[int]string{
		0: "ID             STATE          OPENED                      TITLE\n" +
			"01a2045a-4c1c  investigating  2026-11-21 04:00:00 +01:00  Checkout fails for all\n" +
			"01a2045a-4c1d  resolved       2026-11-20 04:00:00 +01:00  漢字漢字漢字\n",
		77: "ID             STATE          OPENED                   TITLE\n" +
			"01a2045a-4c1c  investigating  2026-11-21 04:00 +01:00  Checkout fails for all\n" +
			"01a2045a-4c1d  resolved       2026-11-20 04:00 +01:00  漢字漢字漢字\n",
		72: "ID             STATE          OPENED                   TITLE\n" +
			"01a2045a-4c1c  investigating  2026-11-21 04:00 +01:00  Checkout fails f…\n" +
			"01a2045a-4c1d  resolved       2026-11-20 04:00 +01:00  漢字漢字漢字\n",
		60: "ID             STATE       OPENED                 TITLE\n" +
			"01a2045a-4c1c  investiga…  2026-11-21 04:00 +01…  Checkout…\n" +
			"01a2045a-4c1d  resolved    2026-11-20 04:00 +01…  漢字漢字…\n",
	} {
		var out bytes.Buffer
		p := Printer{Console: &Console{Out: &out, Width: width}}
		p.Table(rows)
		if out.String() != want {
			t.Errorf("%d columns:\n%swant:\n%s", width, out.String(), want)
		}
		for line := range strings.Lines(out.String()) {
			if n := textWidth(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("%d columns: %d: %s", width, n, line)
			}
		}
		out.Reset()
		p.Wide = true
		p.Table(rows)
		if strings.Contains(out.String(), "…") {
			t.Errorf("--wide: %s", out.String())
		}
	}
}

func TestTextWidth(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "漢字": 4, "…": 1, "한글": 4} {
		if got := textWidth(text); got != want {
			t.Errorf("%q is %d wide, want %d", text, got, want)
		}
	}
}

func TestShortestPrefixes(t *testing.T) {
	for _, c := range []struct{ ids, want []string }{
		{[]string{"abcdef"}, []string{"abc"}},
		{[]string{"abcdef", "abcxyz", "zzz"}, []string{"abcd", "abcx", "zzz"}},
		{[]string{"abcdef", "abcdef"}, []string{"abc", "abc"}},
		{[]string{"abcd", "abcdef"}, []string{"abcd", "abcde"}},
		{nil, []string{}},
	} {
		if got := ShortestPrefixes(c.ids, 3); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.ids, got, c.want)
		}
	}
}
