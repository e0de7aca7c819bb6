package jsonobject

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/google/go-cmp/cmp"
)

// fieldErrors returns the messages of err by field.
func fieldErrors(t testing.TB, err error) map[string][]string {
	t.Helper()
	if err == nil {
		return nil
	}
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) {
		t.Fatalf("not a *ValidationError: %v", err)
	}
	return bad.Messages()
}

func parse(t testing.TB, body string) *Object {
	t.Helper()
	o, err := Parse([]byte(body))
	if err != nil {
		t.Fatalf("Parse(%q): %v", body, err)
	}
	o.AllowUnknown()
	return o
}

func TestParseRejects(t *testing.T) {
	nested := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	wide := func(n int) string { return `{` + strings.Repeat(`"a":1,`, n-1) + `"b":2}` }
	tests := []struct{ name, body, want string }{
		{"nothing", "", "The body must be a JSON object; it is empty."},
		{"blanks", " \r\n\t", "The body must be a JSON object; it is empty."},
		{"null", "null", "The body must be a JSON object."},
		{"an array", "[{}]", "The body must be a JSON object."},
		{"a string", `"{}"`, "The body must be a JSON object."},
		{"bad UTF-8", "{\"a\":\"\xff\"}", "The body must be valid UTF-8."},
		{"trailing data", "{} {}", "The body must be valid JSON, one object and nothing after it."},
		{"broken", `{"a"}`, "The body must be valid JSON, one object and nothing after it."},
		{"too deep", nested(MaxDepth + 1), "The body may not be nested deeper than 32 levels."},
		{"too many fields", wide(MaxFields + 1), "The body may not have more than 20000 fields."},
		{"too many in a list", `{"a":[` + wide(MaxFields) + `]}`, "The body may not have more than 20000 fields."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.body))
			if diff := cmp.Diff(map[string][]string{"body": {tt.want}}, fieldErrors(t, err)); diff != "" {
				t.Errorf("errors of Parse (-want +got):\n%s", diff)
			}
		})
	}
	parse(t, nested(MaxDepth))
	parse(t, wide(MaxFields))
	parse(t, `{"a":"`+strings.Repeat(":", MaxFields+1)+`"}`)
	parse(t, `{"a":"`+strings.Repeat("[", 100)+`\"{"}`) // brackets in a string
}

func TestDuplicateNames(t *testing.T) {
	for body, want := range map[string]map[string][]string{
		`{"a":1,"a":1}`:             {"a": {"The field is given more than once."}},
		`{"a":1,"\u0061":2}`:        {"a": {"The field is given more than once."}},
		`{"a":1,"b":2,"a":3,"a":4}`: {"a": {"The field is given more than once."}},
		`{"a":1,"A":2}`:             nil,
		`{"a":{"b":1,"b":2}}`:       nil, // nested objects are checked by what reads them
		`{"":1,"":2,"c":null,"c":"x"}`: {
			"": {"The field is given more than once."}, "c": {"The field is given more than once."},
		},
	} {
		if diff := cmp.Diff(want, fieldErrors(t, parse(t, body).Check(nil))); diff != "" {
			t.Errorf("errors of %s (-want +got):\n%s", body, diff)
		}
	}
}

// TestDuplicateNamesInMaps checks values that are read as a whole.
func TestDuplicateNamesInMaps(t *testing.T) {
	for value, want := range map[string]map[string][]string{
		`{"b":1,"b":2}`:        {"a": {"The a must not have the same name twice."}},
		`{"b":1,"\u0062":1}`:   {"a": {"The a must not have the same name twice."}},
		`{"b":1,"B":2}`:        nil,
		`["b","b"]`:            nil,
		` { "b" : "x" , "":1}`: nil,
	} {
		o := parse(t, `{"a":`+value+`}`)
		if got, ok := o.Raw("a"); ok != (want == nil) || ok && string(got) != strings.TrimSpace(value) {
			t.Errorf("Raw of %s = %s, %t", value, got, ok)
		}
		if diff := cmp.Diff(want, fieldErrors(t, o.Check(nil))); diff != "" {
			t.Errorf("errors of %s (-want +got):\n%s", value, diff)
		}
	}
}

// checkAccessor compares what an accessor of the field f returned, and the error that it left in the object.
func checkAccessor(t *testing.T, name string, o *Object, want, got any, wrong bool, sentence string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("value of %s (-want +got):\n%s", name, diff)
	}
	var problem map[string][]string
	if wrong {
		problem = map[string][]string{"f": {sentence}}
	}
	if diff := cmp.Diff(problem, fieldErrors(t, o.Check(nil))); diff != "" {
		t.Errorf("%s: errors (-want +got):\n%s", name, diff)
	}
}

// accessedValues are values of the field f, and what the accessors return for them.
var accessedValues = []struct {
	value     string
	text      *string
	number    *int
	flag      *bool
	impact    *kernel.Impact
	textWrong string // error of Text
}{
	{value: `null`},
	{value: `"x"`, text: new("x")},
	{value: `""`, text: new("")},
	{value: `"\u00e9\ud834\udd1e\n\"\\u0000"`, text: new("é𝄞\n\"\\u0000")},
	{value: `"\uFFFD"`, text: new("\ufffd")},
	{value: `"1"`, text: new("1")},
	{value: `"true"`, text: new("true")},
	{value: `"\ud834"`, textWrong: "The f contains half of a surrogate pair."},
	{value: `"\ud834x"`, textWrong: "The f contains half of a surrogate pair."},
	{value: `"\ud834\n"`, textWrong: "The f contains half of a surrogate pair."},
	{value: `"\ud834\u0041"`, textWrong: "The f contains half of a surrogate pair."},
	{value: `"\ud834\ud834\udd1e"`, textWrong: "The f contains half of a surrogate pair."},
	{value: `"\udd1e\ud834"`, textWrong: "The f contains half of a surrogate pair."},
	{value: `"a\u0000"`, textWrong: "The f may not contain NUL characters."},
	{value: `0`, number: new(0), textWrong: "The f must be a string."},
	{value: `-0`, number: new(0), textWrong: "The f must be a string."},
	{value: `-12`, number: new(-12), textWrong: "The f must be a string."},
	{value: strconv.Itoa(math.MaxInt), number: new(math.MaxInt), textWrong: "The f must be a string."},
	{value: `9223372036854775808`, textWrong: "The f must be a string."},
	{value: `1.0`, textWrong: "The f must be a string."},
	{value: `1e3`, textWrong: "The f must be a string."},
	{value: `true`, flag: new(true), textWrong: "The f must be a string."},
	{value: `false`, flag: new(false), textWrong: "The f must be a string."},
	{value: `[]`, textWrong: "The f must be a string."},
	{value: `{"f":"x"}`, textWrong: "The f must be a string."},
	{value: `"major"`, text: new("major"), impact: new(kernel.ImpactMajor)},
	{value: `"Major"`, text: new("Major")},
}

func TestAccessors(t *testing.T) {
	for _, tt := range accessedValues {
		t.Run(tt.value, func(t *testing.T) {
			body := `{"before":[1,{"f":2}],"f" : ` + tt.value + ` ,"after":""}`
			given := tt.value != "null"
			o := parse(t, body)
			checkAccessor(t, "Text", o, tt.text, o.Text("f"), tt.textWrong != "", tt.textWrong)
			o = parse(t, body)
			nullable, there := o.NullableText("f")
			if !there {
				t.Error("NullableText: not given")
			}
			checkAccessor(t, "NullableText", o, tt.text, nullable, tt.textWrong != "", tt.textWrong)
			o = parse(t, body)
			checkAccessor(t, "Integer", o, tt.number, o.Integer("f"), given && tt.number == nil,
				"The f must be a whole number.")
			o = parse(t, body)
			checkAccessor(t, "Flag", o, tt.flag, o.Flag("f"), given && tt.flag == nil, "The f must be true or false.")
			o = parse(t, body)
			checkAccessor(t, "Enum", o, tt.impact, Enum(o, "f", kernel.Impacts), given && tt.impact == nil,
				"The f must be one of: none, minor, major, critical.")
			o = parse(t, body)
			o.Require("f", "after")
			checkAccessor(t, "Require", o, nil, nil, !given, "The f field is required.")
		})
	}
}

func TestTexts(t *testing.T) {
	for value, want := range map[string][]string{
		`null`: nil, `[]`: {}, `[ ]`: {}, `["x"]`: {"x"}, `[ "b" ,"a", "b",""]`: {"b", "a", "b", ""},
		`["\ud834\udd1e","\\u0000","]"]`: {"𝄞", `\u0000`, "]"},
	} {
		o := parse(t, `{"f":`+value+`}`)
		if diff := cmp.Diff(want, o.Texts("f")); diff != "" {
			t.Errorf("Texts of %s (-want +got):\n%s", value, diff)
		}
		if err := o.Check(nil); err != nil {
			t.Errorf("errors of %s: %v, want none", value, err)
		}
	}
	const noList = "The f must be a list of strings."
	for value, want := range map[string]string{
		`"x"`: noList, `""`: noList, `"[]"`: noList, `{}`: noList, `{"0":"x"}`: noList, `0`: noList, `true`: noList,
		`false`: noList,
		`[1]`:   "Item 1 of the f must be a string.", `["x", null]`: "Item 2 of the f must be a string.",
		`["x",["y"],1]`: "Item 2 of the f must be a string.", `[{}]`: "Item 1 of the f must be a string.",
		`["a\u0000"]`:      "Item 1 of the f may not contain NUL characters.",
		`["","","\ud834"]`: "Item 3 of the f contains half of a surrogate pair.",
	} {
		o := parse(t, `{"f":`+value+`}`)
		if got := o.Texts("f"); got != nil {
			t.Errorf("%s is read as %q", value, got)
		}
		if diff := cmp.Diff(map[string][]string{"f": {want}}, fieldErrors(t, o.Check(nil))); diff != "" {
			t.Errorf("errors of %s (-want +got):\n%s", value, diff)
		}
	}
}

func TestObjects(t *testing.T) {
	read := func(t *testing.T, value string) (names []string, fields map[string][]string) {
		t.Helper()
		o := parse(t, `{"f":`+value+`}`)
		for _, item := range o.Objects("f", 3) {
			item.Require("id")
			if id := item.Text("id"); id != nil {
				names = append(names, *id)
			}
			Enum(item, "impact", kernel.Impacts)
		}
		return names, fieldErrors(t, o.Check(nil))
	}
	for value, want := range map[string][]string{
		`null`: nil, `[]`: nil, `[{"id":"b"},{"id":"a","impact":"none"},{"x":[],"id":""}]`: {"b", "a", ""},
	} {
		if got, wrong := read(t, value); !slices.Equal(got, want) || wrong != nil {
			t.Errorf("%s is read as %q, %v", value, got, wrong)
		}
	}
	for value, want := range map[string]map[string][]string{
		`{}`: {"f": {"The f must be a list of objects."}}, `"x"`: {"f": {"The f must be a list of objects."}},
		`[{},{},{},{}]`:  {"f": {"The f may have at most 3 items."}},
		`[{"id":"a"},1]`: {"f.1": {"Each item of the f must be an object."}},
		`[null,[],"{}"]`: {
			"f.0": {"Each item of the f must be an object."}, "f.1": {"Each item of the f must be an object."},
			"f.2": {"Each item of the f must be an object."},
		},
		`[{},{"id":1}]`:              {"f.0.id": {"The id field is required."}, "f.1.id": {"The id must be a string."}},
		`[{"id":null}]`:              {"f.0.id": {"The id field is required."}},
		`[{"id":"a","impact":"x"}]`:  {"f.0.impact": {"The impact must be one of: none, minor, major, critical."}},
		`[{"id":"a","\u0069d":"a"}]`: {"f.0.id": {"The field is given more than once."}},
		`[{"id":"\u0000"}]`:          {"f.0.id": {"The id may not contain NUL characters."}},
	} {
		_, wrong := read(t, value)
		if diff := cmp.Diff(want, wrong); diff != "" {
			t.Errorf("errors of %s (-want +got):\n%s", value, diff)
		}
	}
}

// TestUnreadableFieldsHaveOneError checks that Check leaves out the errors of the domain for fields that
// could not be read.
func TestUnreadableFieldsHaveOneError(t *testing.T) {
	o := parse(t, `{"f":[1,{"id":2}],"g":3}`)
	for _, item := range o.Objects("f", 3) {
		item.Text("id")
	}
	o.Text("g")
	var more kernel.ValidationError
	for _, field := range []string{"f.0.id", "f.0", "f.1.id", "f.1.x", "f.10.id", "f", "g.0", "h"} {
		more.Add(field, "Domain.")
	}
	got := fieldErrors(t, o.Check(&more))
	want := map[string][]string{
		"f.0": {"Each item of the f must be an object."}, "f.1.id": {"The id must be a string."},
		"g":     {"The g must be a string."},
		"f.1.x": {"Domain."}, "f.10.id": {"Domain."}, "f": {"Domain."}, "h": {"Domain."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors of unreadable fields (-want +got):\n%s", diff)
	}
}

func TestInstant(t *testing.T) {
	for value, want := range map[string]string{
		`"2026-11-21T04:00:00Z"`:                "2026-11-21T04:00:00.000Z",
		`"2026-11-21T04:00:00.1+01:00"`:         "2026-11-21T03:00:00.100Z",
		`"2026-11-21T04:00:00.123999999-23:59"`: "2026-11-22T03:59:00.123Z",
		`"2024-02-29T23:59:59-00:00"`:           "2024-02-29T23:59:59.000Z",
		`"\u0032026-11-21T04:00:00Z"`:           "2026-11-21T04:00:00.000Z",
	} {
		o := parse(t, `{"f":`+value+`}`)
		got := o.Instant("f")
		err := o.Check(nil)
		if err != nil || got == nil || kernel.FormatTime(*got) != want || got.Nanosecond()%1e6 != 0 {
			t.Errorf("%s is read as %v, %v", value, got, err)
		}
	}
	for _, value := range []string{
		`""`, `" "`, `0`, `1795233600`, `true`, `[]`, `{}`, `"now"`, `"2026-11-21"`, `"2026-11-21T04:00Z"`,
		`"2026-11-21 04:00:00Z"`, `"2026-11-21T04:00:00"`,
		`"2026-11-21T4:00:00Z"`, `"2026-11-21T04:00:00,5Z"`, `"2026-11-21T04:00:00.Z"`, `"2026-11-21t04:00:00z"`,
		`"2026-11-21T24:00:00Z"`, `"2026-11-21T04:00:60Z"`,
		`"2026-02-29T04:00:00Z"`, `"2026-13-01T04:00:00Z"`, `"2026-11-21T04:00:00+0100"`, `"2026-11-21T04:00:00+24:00"`,
		`"2026-11-21T04:00:00+01:60"`,
		`"2026-11-21T04:00:00Z "`, `"2026-11-21T04:00:00Z\n"`, `"+12026-11-21T04:00:00Z"`, `"0001-01-01T00:00:00Z"`,
		`"2026-11-21T04:00:00Z\u0000"`, `"2026-11-21T04:00:00.1234567890Z"`,
	} {
		o := parse(t, `{"f":`+value+`}`)
		if got := o.Instant("f"); got != nil {
			t.Errorf("%s is read as %v", value, got)
		}
		diff := cmp.Diff(
			map[string][]string{"f": {"The f must be an instant by RFC 3339, such as 2026-11-21T04:00:00Z."}},
			fieldErrors(t, o.Check(nil)),
		)
		if diff != "" {
			t.Errorf("errors of %s (-want +got):\n%s", value, diff)
		}
	}
	o := parse(t, `{"f":null}`)
	if o.Instant("f") != nil || o.Instant("g") != nil || o.Check(nil) != nil {
		t.Error("null is read incorrectly")
	}
}

func TestAbsentFields(t *testing.T) {
	o := parse(t, `{"F":"x"}`)
	if o.Text("f") != nil || o.Texts("f") != nil || o.Integer("f") != nil || o.Flag("f") != nil ||
		Enum(o, "f", statuspage.IncidentStates) != nil {
		t.Error("an absent field has a value")
	}
	if value, given := o.NullableText("f"); value != nil || given {
		t.Error("an absent field is given")
	}
	if err := o.Check(nil); err != nil {
		t.Errorf("an absent field has an error: %v", err)
	}
	o.Require("f")
	if err := o.Check(nil); err == nil {
		t.Error("a required field is accepted without a value")
	}
}

func TestCheckMergesErrors(t *testing.T) {
	o := parse(t, `{"title":5}`)
	o.Text("title")
	var refused kernel.ValidationError
	refused.Add("title", "The title field is required.")
	refused.Add("state", "First 100%%.")
	refused.Add("state", "Second.")
	want := map[string][]string{"title": {"The title must be a string."}, "state": {"First 100%.", "Second."}}
	if diff := cmp.Diff(want, fieldErrors(t, o.Check(refused.Err()))); diff != "" {
		t.Errorf("merged errors (-want +got):\n%s", diff)
	}
	other := errors.New("other")
	if err := o.Check(other); err != other {
		t.Errorf("another error became %v", err)
	}
}

// names returns the names of an object in their order, independently of Parse.
func names(body []byte) (out []string) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // 1e700 is not a float64 but must not stop reading
	depth := 0
	for name := true; ; {
		token, err := dec.Token()
		if err != nil {
			return out
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			if depth == 1 {
				name = true
			}
			continue
		}
		if depth != 1 {
			continue
		}
		if name {
			out = append(out, token.(string))
		}
		name = !name
	}
}

// FuzzObject compares Parse and the accessors with encoding/json: they accept only what it reads,
// and return an error for everything else.
func FuzzObject(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `null`, `[]`, `{"a":"x","b":1,"c":true,"d":null}`, `{"a":"\ud834\udd1e\u0000\ud834"}`,
		`{"a":1,"\u0061":2}`,
		`{"a":-0,"b":1.0,"c":1e3,"d":9223372036854775807,"e":"1"}`, `{"a":[[{"b":"]"}]]}`, "{\"a\":\"\xff\"}",
		`{"a":1}x`,
		`{"a":[],"b":["x", "\u00e9"],"c":["x",null],"d":["\u0000"],"e":[ "\ud834"],"f":[1]}`,
		strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), `{"a":1e700,"a":""}`, `{"\ud834":"\ufffd","":""}`,
		"\ufeff{}",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var want map[string]any
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		readable := dec.Decode(&want) == nil && want != nil && json.Valid(body)
		depth, fields := measure(body)
		o, err := Parse(body)
		if err != nil {
			fieldErrors(t, err)
			if readable && utf8.Valid(body) && depth <= MaxDepth && fields <= MaxFields {
				t.Fatalf("%q is rejected: %v", body, err)
			}
			return
		}
		if !readable {
			t.Fatalf("%q is accepted, but encoding/json does not read it as an object", body)
		}
		o.AllowUnknown()
		found := names(body)
		twice := len(found) != len(want)
		if duplicates := fieldErrors(t, o.Check(nil)); (len(duplicates) > 0) != twice {
			t.Fatalf("%q has the names %q: %v", body, found, duplicates)
		}
		if got := slices.Sorted(maps.Keys(o.fields)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("%q: the names are %q", body, got)
		}
		for name, value := range want {
			agree(t, body, name, value)
		}
	})
}

// garbled reports whether a text that was read contains a NUL, or a U+FFFD that was not sent.
func garbled(body []byte, text string) bool {
	lower := strings.ToLower(string(body))
	return strings.ContainsRune(text, 0) || strings.ContainsRune(text, '\ufffd') &&
		!strings.ContainsRune(lower, '\ufffd') && !strings.Contains(lower, `\ufffd`)
}

// agree compares each accessor with the value that encoding/json has read.
func agree(t *testing.T, body []byte, name string, value any) {
	t.Helper()
	fresh := func() *Object { o := parse(t, string(body)); *o.bad = kernel.ValidationError{}; return o }
	o := fresh()
	switch got := o.Text(name); {
	case got != nil:
		if value != *got {
			t.Errorf("%q: Text(%q) is %q, encoding/json reads %q", body, name, *got, value)
		}
		if garbled(body, *got) {
			t.Errorf("%q: Text(%q) is %q", body, name, *got)
		}
	case value != nil && o.Check(nil) == nil:
		t.Errorf("%q: Text(%q) neither reads nor rejects %v", body, name, value)
	}
	o = fresh()
	switch got := o.Integer(name); {
	case got != nil:
		if number, ok := value.(json.Number); !ok || number.String() != strconv.Itoa(*got) && number.String() != "-0" {
			t.Errorf("%q: Integer(%q) is %d, encoding/json reads %v", body, name, *got, value)
		}
	case value != nil && o.Check(nil) == nil:
		t.Errorf("%q: Integer(%q) neither reads nor rejects %v", body, name, value)
	}
	o = fresh()
	switch got := o.Flag(name); {
	case got != nil:
		if value != *got {
			t.Errorf("%q: Flag(%q) is %v, encoding/json reads %v", body, name, *got, value)
		}
	case value != nil && o.Check(nil) == nil:
		t.Errorf("%q: Flag(%q) neither reads nor rejects %v", body, name, value)
	}
	o = fresh()
	switch got := o.Texts(name); {
	case got != nil:
		items := make([]any, len(got))
		for i, text := range got {
			items[i] = text
			if garbled(body, text) {
				t.Errorf("%q: Texts(%q) is %q", body, name, got)
			}
		}
		if diff := cmp.Diff(value, any(items)); diff != "" {
			t.Errorf("%q: Texts(%q) (-encoding/json +got):\n%s", body, name, diff)
		}
	case value != nil && o.Check(nil) == nil:
		t.Errorf("%q: Texts(%q) neither reads nor rejects %v", body, name, value)
	}
}
