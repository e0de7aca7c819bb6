package settings

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseFile(t *testing.T) {
	text := strings.Join([]string{
		"\ufeff# a comment \\",
		"; another",
		"",
		"A=plain value  ",
		"  B = spaces around\t",
		`C="quoted # value \" \$x \n"`,
		`D='single \ "quoted"'`,
		"E=",
		`F=it's "literal" # too`,
		"G=first\\",
		" second",
		`H="two`,
		`lines"`,
		`I="a" 'b' c`,
		`J=back\\slash\ `,
		"K=last\r",
		"A=again",
	}, "\n")
	want := []Assignment{
		{"A", "plain value", 4}, {"B", "spaces around", 5}, {"C", `quoted # value " $x \n`, 6},
		{"D", `single \ "quoted"`, 7}, {"E", "", 8},
		{"F", `it's "literal" # too`, 9}, {"G", "first second", 10}, {"H", "two\nlines", 12}, {"I", "abc", 14},
		{"J", `back\slash `, 15},
		{"K", "last", 16}, {"A", "again", 17},
	}
	got, err := ParseFile(text)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ParseFile:\ngot  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestParseFileRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"A=1\nnonsense\nB=2": "line 2: expected NAME=VALUE",
		"export A=1":         "line 1: expected NAME=VALUE",
		"A B=1":              "line 1: expected NAME=VALUE",
		"=1":                 "line 1: expected NAME=VALUE",
		"1A=1":               "line 1: expected NAME=VALUE",
		"\n\nA=\"x\ny":       "line 3: the quote at the beginning of the value has no end",
		"A='":                "line 1: the quote at the beginning of the value has no end",
		"A=\xff":             "line 1: the value is not text in UTF-8",
		"A=x\x00y":           "line 1: the value is not text in UTF-8",
	} {
		if got, err := ParseFile(text); err == nil || err.Error() != want {
			t.Errorf("ParseFile(%q) = %v, %v; want %q", text, got, err, want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add("A=\"x\\\ny\" 'z'\n# c\nB=\\")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseFile(text)
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
		for _, a := range all {
			if a.Line < 1 || a.Line > lines || !isVariableName(a.Name) || len(a.Value) > len(text) {
				t.Errorf("ParseFile(%q) has the assignment %+v", text, a)
			}
		}
		if err != nil && all != nil {
			t.Errorf("ParseFile(%q) = %v and %v", text, all, err)
		}
	})
}
