package allswell_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell"
)

// TestImportsAreRead reads lists as people have them.
func TestImportsAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		list string
		want []string
	}{
		"addresses":      {"ada@example.com\n\n Grace@Example.com \r\n", []string{"1 ada@example.com added", "3 grace@example.com added"}},
		"a bad line":     {"ada@example.com\nnobody\nADA@example.com\n", []string{"1 ada@example.com added", "2 nobody invalid", "3 ada@example.com subscribed"}},
		"a table":        {"\ufeffName;E-Mail\nAda;ada@example.com\nGrace\n", []string{"2 ada@example.com added", "3  invalid"}},
		"tabs":           {"email\tcomponents\nada@example.com\tapi web\n", []string{"2 ada@example.com added api web"}},
		"quotes":         {"target\n\"ada@example.com\nx\"y\n", []string{"2  invalid"}},
		"an export":      {"target,channel,state\nada@example.com,email,active\nx@example.com,email,unconfirmed\nhttps://example.com,webhook,active\n", []string{"2 ada@example.com added", "3 x@example.com invalid", "4 https://example.com invalid"}},
		"capitals":       {"Email,Channel,State\rada@example.com,Email,Active\r", []string{"2 ada@example.com added"}},
		"guarded":        {"'+ada@example.com\n", []string{"1 +ada@example.com added"}},
		"only a heading": {"email\n", nil},
		"nothing":        {" \n", nil},
		"no text":        {"a\x00", nil},
		"too large":      {strings.Repeat(" ", allswell.MaxImportBytes) + "x", nil},
		"too long":       {strings.Repeat("x\n", allswell.MaxImportLines+1), nil},
	} {
		lines, err := allswell.SubscriberImport{CSV: c.list, Consent: "a form"}.Check()
		var bad *allswell.ValidationError
		if (c.want == nil) != (errors.As(err, &bad) && bad.Fields["csv"] != nil) {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, l := range lines {
			got = append(got, strings.TrimSpace(fmt.Sprint(l.Line, " ", l.Target, " ", l.Result, " ", strings.Join(l.Components, " "))))
			if (l.Reason == "") != (l.Result == allswell.ImportAdded) {
				t.Errorf("%s: the reason of line %d is %q", name, l.Line, l.Reason)
			}
		}
		if c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	var bad *allswell.ValidationError
	if _, err := (allswell.SubscriberImport{}).Check(); !errors.As(err, &bad) || len(bad.Fields) != 2 {
		t.Errorf("without consent and list: %v", err)
	}
}
