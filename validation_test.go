package allswell_test

import (
	"errors"
	"testing"

	"github.com/allswell/allswell"
)

// TestNamesAreOneLine checks that names cannot break a line or turn the direction of the text around them, wherever they are entered.
func TestNamesAreOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"Ann": "Ann", "  Ann\t": "Ann", "An\u202en\n": "Ann", "a\r\nb": "ab", "a\u2028b\u2029": "ab", "\u200f\u2066x\u2069": "x", "\u061c": "", "\u200b\n": "", "\xffAnn\x00": "Ann",
		"\U0001f469\u200d\U0001f4bb": "\U0001f469\u200d\U0001f4bb", "می\u200cخواهم": "می\u200cخواهم", // joiners are part of a text
	} {
		if got := allswell.OneLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if want == "" {
			continue
		}
		var bad allswell.ValidationError
		if allswell.CheckLine(&bad, "name", want, allswell.MaxNameLength); bad.Err() != nil {
			t.Errorf("%q is refused: %v", want, bad.Err())
		}
	}
	for _, name := range []string{"two\nlines", "a\tb", "a\u0085b", "a\u2028b", "a\u202eb", "a\u2067b", "a\u200eb", "\n"} {
		for kind, err := range map[string]error{
			"component": allswell.NewComponent{Name: name}.Validate(), "component that is changed": allswell.ComponentEdit{Name: &name}.Validate(),
			"group": allswell.NewGroup{Name: name}.Validate(), "page": allswell.NewPage{Name: name}.Validate(), "monitor": allswell.NewMonitor{Name: name}.Validate(),
			"token": allswell.NewToken{Name: name}.Validate(), "user": (&allswell.NewUser{Name: name}).Validate(), "template": allswell.IncidentTemplate{Name: name}.Validate(),
		} {
			var bad *allswell.ValidationError
			if !errors.As(err, &bad) || bad.Fields["name"] == nil {
				t.Errorf("%q is accepted as the name of a %s: %v", name, kind, err)
			}
		}
	}
}
