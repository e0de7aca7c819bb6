package jsonpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// exactNumbers are JSON values and texts, and whether they are the same value.
var exactNumbers = []struct {
	value, expected string
	same            bool
}{
	{"9007199254740993", "9007199254740993", true},
	{"9007199254740993", "9007199254740992", false},
	{"1", "1.0", true},
	{"100", "1e2", true},
	{"1E+2", "100.000", true},
	{"0.1", "1e-1", true},
	{"0.1", ".1", true},
	{"0.30000000000000004", "0.3", false},
	{"-0", "0", true},
	{"0e999999999999999999999", "0", true},
	{"-5", "5", false},
	{"5", "+5", true},
	{"1e999999999", "1e999999999", true},
	{"1e999999999", "1e999999998", false},
	{"1e-999999999", "0", false},
	{"1e99999999999999999999999999", "1", false},
	{"1e99999999999999999999", "1e99999999999999999998", true}, // exponents beyond the limit are equal
	{"1e-99999999999999999999", "1e-99999999999999999998", true},
	{"1e-99999999999999999999", "1e99999999999999999999", false},
	{"1e1152921504606846977", "1e1152921504606846976", true},
	{"1e1152921504606846976", "1e1152921504606846975", false},
	{"1e-1152921504606846977", "1e-1152921504606846976", true},
	{"1e-1152921504606846976", "1e-1152921504606846975", false},
	{"0", ".", false},
	{"0", "-", false},
	{"0", "e0", false},
	{"1", "1e", false},
	{"1", "1e+-0", false},
	{"1", "1e0x", false},
	{"1", "1.x", false},
	{"1", "1.", true},
	{"5", "-5", false},
	{"5", "+-5", false},
	{"-5", "-+5", false},
	{"1", "", false},
	{"1", "0x1", false},
	{"1", "1 1", false},
	{`"1.0"`, "1", false},
	{`"1.0"`, "1.0", true},
	{"[1.0, 2]", "[1,2e0]", true},
	{"[9007199254740993]", "[9007199254740992]", false},
	{"[ ]", "[]", true},
	{"{}", "[]", false},
	{`{"a": 1, "b": [ ]}`, `{"b":[],"a":1.0}`, true},
	{`{"a": 1}`, `{"a": 1} x`, false},
	{"null", "null", true},
	{"true", "false", false},
	{"true", "0", false},
	{"null", "0", false},
	{"[]", "0", false},
	{"{}", "0", false},
}

// TestExactNumbers checks that numbers are compared as decimal numbers, however large they are.
func TestExactNumbers(t *testing.T) {
	for _, c := range exactNumbers {
		if v := first(t, "$", c.value); v.Is(c.expected) != c.same {
			t.Errorf("%s is %s: %v", c.value, c.expected, !c.same)
		}
		if _, isNumber := parseNumber(c.expected); isNumber && json.Valid([]byte(c.expected)) && c.value[0] != '"' {
			filter, document := "$[?@=="+c.expected+"]", "["+c.value+"]"
			if found := len(selectAllOf(t, parse(t, filter), []byte(document))) == 1; found != c.same {
				t.Errorf("%s finds %s: %v", filter, document, found)
			}
		}
	}
}

// TestNumbersAreOrdered compares with integers whose order is known.
func TestNumbersAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "a"), rapid.Int64Range(-1<<40, 1<<40).Draw(t, "b")
		power := rapid.IntRange(0, 5).Draw(t, "power")
		x, _ := parseNumber(fmt.Sprintf("%de-%d", a, power))
		y, _ := parseNumber(fmt.Sprintf("%d%s", b, strings.Repeat("0", power)))
		y.exponent -= int64(2 * power)
		if y.digits == "" {
			y.exponent = 0
		}
		want := 0
		switch {
		case a < b:
			want = -1
		case a > b:
			want = 1
		}
		if x.compare(y) != want {
			t.Fatalf("%d and %d times the same: %d", a, b, x.compare(y))
		}
	})
}

func parse(t *testing.T, path string) *Path {
	t.Helper()
	p, err := Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func first(t *testing.T, path, document string) Value {
	t.Helper()
	d, err := ParseDocument([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	v, ok, err := parse(t, path).First(d, goOn)
	if !ok || err != nil {
		t.Fatalf("%s of %s: %v, %v", path, document, ok, err)
	}
	return v
}

// TestFirst checks that the first value is the first in the document, and that the last of several members counts.
func TestFirst(t *testing.T) {
	for _, c := range []struct{ path, document, want string }{
		{"$", " [1] ", "[1]"},
		{"$.a", `{"a": 1, "a": 2}`, "2"},
		{"$.*", `{"z": 1, "a": 2}`, "1"},
		{"$..b", `{"x": {"y": {"b": 1}}, "b": 2}`, "2"},
		{"$['a\\u0041']", `{"aA": "\u00fcber\ud83d\ude00"}`, "über😀"},
		{"$.é", `{"\u00e9": "x"}`, "x"},
		{"$[?(@.b > 1)].b", `[{"b": 1}, {"b": 2}]`, "2"},
		{"$[?match(@, 'ab|c')]", `["abx", "xc", "c"]`, "c"},
		{"$[?length(@)==1]", `["ab", "😀"]`, "😀"},
	} {
		if got := first(t, c.path, c.document).String(); got != c.want {
			t.Errorf("%s of %s: %s", c.path, c.document, got)
		}
	}
}

// TestInvalidDocuments checks texts that are not one JSON document.
func TestInvalidDocuments(t *testing.T) {
	for text, want := range map[string]error{
		"": ErrInvalid, `{"a": 1} x`: ErrInvalid, `{"a": 1}{}`: ErrInvalid, "[1,]": ErrInvalid, "\ufeff{}": ErrInvalid,
		"NaN": ErrInvalid,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth):     nil,
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1): ErrDepth,
		strings.Repeat("[", 1_000_000):                                    ErrInvalid,
	} {
		if _, err := ParseDocument([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

// TestExpensivePaths checks that the work of nested queries is limited, and that it can be stopped before.
func TestExpensivePaths(t *testing.T) {
	list := "[" + strings.TrimSuffix(strings.Repeat(`{"a":[1,2,3]},`, 100_000), ",") + "]"
	d, err := ParseDocument([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"$[?$[?$[?@.b]]]", "$[?count($..*)<0]", "$[?$[-1]==1]",
	} {
		if _, _, err := parse(t, path).First(d, goOn); !errors.Is(err, ErrWork) {
			t.Errorf("%s: %v", path, err)
		}
		asked := 0
		_, _, err := parse(t, path).First(d, func() bool { asked++; return asked == 10 })
		if !errors.Is(err, ErrStopped) || asked != 10 {
			t.Errorf("%s: %v after %d questions", path, err, asked)
		}
	}
}

// TestExpensiveExpressions checks that regular expressions of paths and of documents are limited.
func TestExpensiveExpressions(t *testing.T) {
	if _, err := Parse("$[?match(@, '(?:a?){990}b')]"); err == nil {
		t.Error("a huge expression is accepted")
	}
	text := `[{"re": "(?:a?){990}b$", "text": "` + strings.Repeat("a", 1<<20) + `"}]`
	if got := selectAllOf(t, parse(t, "$[?match(@.text, @.re)]"), []byte(text)); len(got) > 0 {
		t.Error("a huge expression of a document matches")
	}
	d, err := ParseDocument([]byte(strings.ReplaceAll(text, "990", "700")))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	_, _, err = parse(t, "$[?search(@.text, @.re)]").First(d, func() bool { asked++; return asked == 20 })
	if !errors.Is(err, ErrStopped) {
		t.Errorf("error %v after %d questions", err, asked)
	}
}

// parseErrors are paths that are not valid, and the beginning of their error.
var parseErrors = map[string]string{
	"status":                            `expected $ at "status"`,
	"$.foo-bar":                         `unexpected text at "-bar"`,
	"$.a[(@.length-1)]":                 `expected a selector at "(@.length-1)]"`,
	"$[?@.a":                            "expected , or ] at its end",
	"$[?" + strings.Repeat("(", 1_000):  "more than 100 levels",
	"$[?" + strings.Repeat("@[?", 1000): "more than 100 levels",
	strings.Repeat("$", 5_000):          "it is longer than 4096 bytes",
	"$['\xff']":                         "it is not valid UTF-8",

	"$.[0]":     `expected a name or * at "[0]"`,
	"$.":        `expected a name or *; other names are written as ['name'], at its end`,
	"$.1a":      `expected a name or *; other names are written as ['name'], at "1a"`,
	"$..":       `expected a name or *; other names are written as ['name'], at its end`,
	"$.a ":      `unexpected text at " "`,
	"$.a@":      `unexpected text at "@"`,
	"$[0 0]":    `expected , or ] at "0]"`,
	"$[01]":     `expected an integer without leading zeros at "01]"`,
	"$[-0]":     `expected an integer without leading zeros at "-0]"`,
	"$[-]":      `expected an integer without leading zeros at "-]"`,
	"$[0:-]":    `expected an integer without leading zeros at "-]"`,
	"$[0:1:00]": `expected an integer without leading zeros at "00]"`,
	"$[ a]":     `expected a selector at "a]"`,
	"$[]":       `expected a selector at "]"`,

	"$[9007199254740992]":     `the integer is too large at "9007199254740992]"`,
	"$[-9007199254740992]":    `the integer is too large at "-9007199254740992]"`,
	"$[99999999999999999999]": `the integer is too large at "99999999999999999999]"`,

	"$['a":              "the quotes do not end at its end",
	"$['a\x1f']":        `control character at "\x1f']"`,
	`$['a\x']`:          `unknown escape at "x']"`,
	`$['a\"']`:          `unknown escape at "\"']"`,
	`$['a\`:             "unknown escape at its end",
	`$['\u12']`:         `expected uXXXX at "u12']"`,
	`$['\u00`:           `expected uXXXX at "u00"`,
	`$['\u+123']`:       `expected uXXXX at "u+123']"`,
	`$['\u_123']`:       `expected uXXXX at "u_123']"`,
	`$['\u00g0']`:       `expected uXXXX at "u00g0']"`,
	`$['\ud800']`:       `surrogate without its other half at "']"`,
	`$['\udc00\ud800']`: `surrogate without its other half at "\\ud800']"`,
	`$['\ud800\ud800']`: `surrogate without its other half at "']"`,
	`$['\ud800\ue000']`: `surrogate without its other half at "']"`,
	`$['\ud800a12345']`: `surrogate without its other half at "a12345']"`,
	`$['\ud800\a1234']`: `expected uXXXX at "a1234']"`,

	"$[?!@.a == 1]":            `! before a comparison needs parentheses at "@.a == 1]"`,
	"$[?(@.a]":                 `expected ) at "]"`,
	"$[?1]":                    `expected a query, a comparison or a function at "1]"`,
	"$[?'a']":                  `expected a query, a comparison or a function at "'a']"`,
	"$[?length(@.a)]":          `the result of length() must be compared at "]"`,
	"$[?@.* == 1]":             `only a query that selects at most one value can be compared at "@.* == 1]"`,
	"$[?1 == @..a]":            `only a query that selects at most one value can be compared at "1 == @..a]"`,
	"$[?length(@.*) == 1]":     `only a query that selects at most one value can be compared at "@.*) == 1]"`,
	"$[?match(@.a, 'a') == 1]": `the result of match() cannot be compared at "match(@.a, 'a') == 1]"`,
	"$[?count(1) == 1]":        `count() needs a query at "1) == 1]"`,
	"$[?@.a == ]":              `expected a value, a query or a function at "]"`,
	"$[?@.a == A]":             `expected a value, a query or a function at "A]"`,
	"$[?@.a == -]":             `expected a number at "-]"`,
	"$[?@.a == 01]":            `expected a number at "01]"`,
	"$[?@.a == 1.]":            `expected digits at "]"`,
	"$[?@.a == 1e]":            `expected digits at "]"`,
	"$[?@.a == 1e-]":           `expected digits at "]"`,
	"$[?@.a == 1E+-1]":         `expected digits at "-1]"`,
	"$[?@.a == nil]":           `unknown word at "nil]"`,
	"$[?@.a == az_9]":          `unknown word at "az_9]"`,
	"$[?@.a == none":           `unknown word at "none"`,
	"$[?size(@.a) == 1]":       `unknown function at "size(@.a) == 1]"`,
	"$[?length(@.a, 1) == 1]":  `expected ) at ", 1) == 1]"`,
	"$[?match(@.a)]":           `expected , at ")]"`,

	"$[?" + strings.Repeat("(", 100) + "@.a" + strings.Repeat(")", 100) + "]": "more than 100 levels at ",
	"$" + strings.Repeat("a", 4096):                                           "it is longer than 4096 bytes",
}

// TestParseErrors checks that an error says where a path is not valid, and that nothing nests without limit.
func TestParseErrors(t *testing.T) {
	for path, want := range parseErrors {
		if _, err := Parse(path); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.30s: %v", path, err)
		}
	}
}

// TestLimitsOfPaths checks what is just within the limits, and that levels are left again.
func TestLimitsOfPaths(t *testing.T) {
	filter := "?" + strings.Repeat("(", 98) + "length(@.a) == 1" + strings.Repeat(")", 98)
	for _, path := range []string{
		"$." + strings.Repeat("a", 4094), "$[9007199254740991]", "$[-9007199254740991]", "$[" + filter + "]",
		"$[" + filter + "," + filter + "]",
		"$._", "$.A", "$.Z9", "$.é", "$.a0", "$[0]", `$['\ud800\udc00\udbff\udfff\ud7ff\ue000']`,
		"$ [ 'a' , 0 : 1 : 1 ] .b", "$[?@.a == 0 && -0.0 < 1e+5]",
	} {
		if _, err := Parse(path); err != nil {
			t.Errorf("%.50s: %v", path, err)
		}
	}
}

// TestConditions evaluates the paths by which the manual expresses conditions on bodies: a filter on the whole document
// finds something while its comparison is true.
func TestConditions(t *testing.T) {
	document, err :=
		ParseDocument([]byte(`{"a": 6, "b": "x", "list": [1, 2, 3], "same": [1.0, 2, 3], "longer": [1, 2, 3, 4], "none": [],
		"pair": {"x": [1], "y": 2}, "turned": {"y": 2, "x": [1]}, "part": {"x": [1]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"$[?$.a > 5]":                  true,
		"$[?$.a > 6]":                  false,
		"$[?$.a != 6]":                 false,
		`$[?$.a > 5 && $.b == "x"]`:    true,
		`$[?$.a > 5 && $.b == "y"]`:    false,
		"$[?length($.list) > 2]":       true,
		"$[?length($.list) > 3]":       false,
		"$[?!$.error]":                 true,
		"$[?!$.a]":                     false,
		"$[?$.a == 1 || $.list[2]==3]": true,

		// Arrays and objects are equal if all they have is.
		"$[?$.list == $.same]": true, "$[?$.list == $.longer]": false, "$[?$.longer == $.list]": false,
		"$[?$.none == $.list]": false, "$[?$.list == $.none]": false,
		"$[?$.none == $.none]": true, "$[?$.pair == $.turned]": true, "$[?$.pair == $.part]": false,
		"$[?$.part == $.pair]": false, "$[?$.none == $.part]": false,
	} {
		path, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, found, err := path.First(document, func() bool { return false }); err != nil || found != want {
			t.Errorf("%s: %t, %v", text, found, err)
		}
	}
}

// TestExpressionsOfDocuments checks that a regular expression that the document has means what it means in the path,
// whichever functions use it in one filter.
func TestExpressionsOfDocuments(t *testing.T) {
	const document = `{"re": %s, "list": ["a", "b", "ab", "ba", "abab", "", "a\n", 1, null]}`
	found := 0
	for _, expression := range []string{`"b"`, `"ab|c"`, `"a."`, `""`, `"["`, `1`} {
		for _, filter := range []string{
			"match(@, %[1]s)", "search(@, %[1]s)", "match(@, %[1]s) && search(@, %[1]s)",
			"search(@, %[1]s) && match(@, %[1]s)",
			"!match(@, %[1]s) && search(@, %[1]s)", "search(@, %[1]s) && !match(@, %[1]s)",
			"match(@, %[1]s) || search(@, %[1]s)", "match(@, %[1]s) || match(@, 'b')",
		} {
			text := fmt.Appendf(nil, document, expression)
			literal := selectAllOf(t, parse(t, "$.list[?"+fmt.Sprintf(filter, expression)+"]"), text)
			ofDocument := selectAllOf(t, parse(t, "$.list[?"+fmt.Sprintf(filter, "$.re")+"]"), text)
			if !slices.EqualFunc(literal, ofDocument, sameText) {
				t.Errorf("%s of %s: %s, with the expression in the document %s", filter, expression, literal,
					ofDocument)
			}
			found += len(literal)
		}
	}
	if found == 0 {
		t.Error("no filter finds anything")
	}
}

// FuzzPaths checks that no path and no document break an evaluation.
func FuzzPaths(f *testing.F) {
	for _, path := range []string{
		"$.a", "$..[?(@.b > 1)]", "$[1:2:-1, 'x']", "$[?match(@, $.re) && !count(@..*) == 1]",
	} {
		f.Add(path, []byte(`{"a": [{"b": 2.5e1}, "\u00fc"], "re": "x.*"}`))
	}
	f.Fuzz(func(t *testing.T, path string, document []byte) {
		d, err := ParseDocument(document)
		if err != nil {
			return
		}
		p, err := Parse(path)
		if err != nil {
			return
		}
		asked := 0
		_ = p.Select(d, func() bool {
			asked++
			return asked > 100
		}, func(v Value) bool { return v.Is("1") || v.String() != "x" })
	})
}
