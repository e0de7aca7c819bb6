package configfield

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

func textOf(length int) string { return `"` + strings.Repeat("é", length) + `"` }

func listOf(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(`"a",`, n), ",") + "]" }

func objectOf(n int) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"%d":"a"`, i)
	}
	return "{" + strings.Join(entries, ",") + "}"
}

// Parts of fieldValues.
const (
	longer, many     = "may not be longer than %d characters", "may not have more than 50 entries"
	oneLine, several = "must be text of one line", "must be text without control characters"
)

// fieldValues are values of each kind of field, on both sides of its limits, and what is wrong with them.
var fieldValues = []struct {
	field Field
	value string
	want  string
}{
	{Field{Kind: KindText}, textOf(2000), ""},
	{Field{Kind: KindText}, textOf(2001), fmt.Sprintf(longer, 2000)},
	{Field{Kind: KindText, Max: 3}, textOf(3), ""},
	{Field{Kind: KindText, Max: 3}, textOf(4), fmt.Sprintf(longer, 3)},
	{Field{Kind: KindText}, "1", "must be a string"},
	{Field{Kind: KindText}, `"a\nb"`, oneLine},
	{Field{Kind: KindText}, `"a\tb"`, oneLine},
	{Field{Kind: KindText}, `"a\u0085b"`, oneLine},
	{Field{Kind: KindText, Syntax: true}, `"a\nb"`, ""},
	{Field{Kind: KindText, Syntax: true, Max: 2}, `"a\nb"`, fmt.Sprintf(longer, 2)},
	{Field{Kind: KindText, Choices: []string{"4", "6"}}, `"6"`, ""},
	{Field{Kind: KindText, Choices: []string{"4", "6"}}, `"5"`, "must be one of: 4, 6"},
	{Field{Kind: KindLongText}, textOf(16384), ""},
	{Field{Kind: KindLongText}, textOf(16385), fmt.Sprintf(longer, 16384)},
	{Field{Kind: KindLongText, Max: 3}, textOf(4), fmt.Sprintf(longer, 3)},
	{Field{Kind: KindLongText}, `"a\n\r\tb"`, ""},
	{Field{Kind: KindLongText}, `"a\u0000b"`, several},
	{Field{Kind: KindInteger, Min: 1, Max: 9}, "0", "must be from 1 to 9"},
	{Field{Kind: KindInteger, Min: 1, Max: 9}, "1", ""},
	{Field{Kind: KindInteger, Min: 1, Max: 9}, " 9 ", ""},
	{Field{Kind: KindInteger, Min: 1, Max: 9}, "10", "must be from 1 to 9"},
	{Field{Kind: KindInteger}, "-1", "must be from 0 to 2000"},
	{Field{Kind: KindInteger, Max: 9}, "1.5", "must be a whole number"},
	{Field{Kind: KindInteger, Max: 9}, `"1"`, "must be a whole number"},
	{Field{Kind: KindFlag}, " true", ""},
	{Field{Kind: KindFlag}, "false", ""},
	{Field{Kind: KindFlag}, `"true"`, "must be true or false"},
	{Field{Kind: KindFlag}, "1", "must be true or false"},
	{Field{Kind: KindList}, "[]", ""},
	{Field{Kind: KindList}, listOf(50), ""},
	{Field{Kind: KindList}, listOf(51), many},
	{Field{Kind: KindList}, `["a",1]`, "must be a list of strings"},
	{Field{Kind: KindList}, `["a",null]`, "must be a list of strings"},
	{Field{Kind: KindList}, `"a"`, "must be a list of strings"},
	{Field{Kind: KindList, Max: 3}, `["abc","abcd"]`, fmt.Sprintf(longer, 3)},
	{Field{Kind: KindList}, `["abc","a\nb"]`, oneLine},
	{Field{Kind: KindMap}, "{}", ""},
	{Field{Kind: KindMap}, objectOf(50), ""},
	{Field{Kind: KindMap}, objectOf(51), many},
	{Field{Kind: KindMap}, `{"a":1}`, "must be an object whose values are strings"},
	{Field{Kind: KindMap}, `{"a":null}`, "must be an object whose values are strings"},
	{Field{Kind: KindMap}, `{"":"a"}`, "must be an object whose values are strings"},
	{Field{Kind: KindMap}, `[]`, "must be an object whose values are strings"},
	{Field{Kind: KindMap, Max: 3}, `{"ab":"c"}`, ""},
	{Field{Kind: KindMap, Max: 3}, `{"ab":"cd"}`, fmt.Sprintf(longer, 3)},
	{Field{Kind: KindMap}, `{"a\nb":"c"}`, oneLine},
}

// TestValuesOfFields checks what each kind of field accepts.
func TestValuesOfFields(t *testing.T) {
	for _, c := range fieldValues {
		if got := c.field.check(json.RawMessage(c.value)); got != c.want {
			t.Errorf("check by %+v of %.30s = %q, want %q", c.field, c.value, got, c.want)
		}
	}
}

// server has a field of each kind that Read treats in its own way.
type server struct {
	Host  string `json:"host"`
	Port  int    `json:"port"`
	Token string `json:"token,omitzero"`
	Path  string `json:"path,omitzero"`
}

var serverFields = []Field{
	{Name: "host", Kind: KindText, Required: true, Max: 10}, {Name: "port", Kind: KindInteger, Min: 1, Max: 100},
	{Name: "token", Kind: KindText, Secret: true}, {Name: "path", Kind: KindText},
}

func newServer() *server { return &server{Port: 80} }

// Validate refuses no host, one that begins with a full stop, and port 13.
func (s *server) Validate(bad *kernel.ValidationError) {
	if s.Host == "" || strings.HasPrefix(s.Host, ".") {
		bad.Add("host", "The host is not valid: 100%%.")
	}
	if s.Port == 13 {
		bad.Add("port", "The port is unlucky.")
	}
}

// Destination is the host with its port.
func (s *server) Destination() Destination { return Destination{s.Host, fmt.Sprint(s.Port)} }

func fieldsOf(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// refused returns the messages of an error, in the order of their fields.
func refused(err error) string {
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) {
		return fmt.Sprint(err)
	}
	var all []string
	for _, field := range slices.Sorted(maps.Keys(bad.Messages())) {
		all = append(all, bad.Messages()[field]...)
	}
	return strings.Join(all, " ")
}

// TestReadAndConfigure checks what of a request becomes the configuration and the secrets, and what is refused.
func TestReadAndConfigure(t *testing.T) {
	for given, want := range map[string]string{
		`{"host":"a"}`:                              `{"host":"a","port":80} map[]`,
		`{"host":"a","port":null,"token":null}`:     `{"host":"a","port":80} map[]`,
		`{"host":"a","port":1,"token":"t","x":"y"}`: `{"host":"a","port":1} map[token:"t"]`,
		`{"host":"a","path":"/","token":"t"}`:       `{"host":"a","path":"/","port":80} map[token:"t"]`,
		`{}`:                                        "The host field is required.",
		`{"host":null,"port":0}`: "The host field is required. The port must be from 1 to " +
			"100.",
		`{"host":".a","port":13}`:                    "The host is not valid: 100%. The port is unlucky.",
		`{"host":1,"port":13}`:                       "The host must be a string. The port is unlucky.",
		`{"host":"a","token":"0123456789012345678"}`: `{"host":"a","port":80} map[token:"0123456789012345678"]`,
		`{"host":"a","token":"01234567890123456789"}`: "The fields of the type must not be longer than 48 bytes " +
			"together.",
		`{"host":"a","path":"0123456789012345"}`: `{"host":"a","path":"0123456789012345","port":80} map[]`,
		`{"host":"a","path":"01234567890123456"}`: "The fields of the type must not be longer than 48 bytes " +
			"together.",
		`{"host":"0123456789"}`: `{"host":"0123456789","port":80} map[]`,
		`{"host":"01234567890","port":"1","token":["t"]}`: "The host may not be longer than 10 characters. The port " +
			"must be a whole number. The token must be a string.",
	} {
		config, secrets, err := Read(serverFields, newServer(), fieldsOf(t, given), 48)
		got := refused(err)
		if err == nil {
			got = fmt.Sprintf("%s %s", config, secrets)
			again := newServer()
			err := Configure(again, config, secrets)
			if err != nil || again.Host == "" || again.Port == 0 || (again.Token != "") != (len(secrets) > 0) {
				t.Errorf("%s is configured as %+v, %v", given, again, err)
			}
		}
		if got != want {
			t.Errorf("Read of %s: %s, want %s", given, got, want)
		}
	}
	got := refused(Configure(newServer(), json.RawMessage(`{"host":"."}`), nil))
	if got != "The host is not valid: 100%." {
		t.Errorf("a configuration that is not valid any more: %s", got)
	}
	for _, config := range []string{``, `[]`, `{"port":"x"}`} {
		if err := Configure(newServer(), json.RawMessage(config), nil); err == nil {
			t.Errorf("%q is a configuration", config)
		}
	}
}

// TestMerge checks that what is given is in place of the secrets, these in place of the configuration, and a null of
// both.
func TestMerge(t *testing.T) {
	fields, err := Merge(json.RawMessage(`{"a":1,"b":1,"c":1}`), fieldsOf(t, `{"b":2,"c":2,"d":2}`),
		fieldsOf(t, `{"c":3,"a":null,"e":3,"f":null}`))
	if got := fmt.Sprintf("%s", fields); err != nil || got != "map[b:2 c:3 d:2 e:3]" {
		t.Errorf("Merge = %s, %v", got, err)
	}
	if fields, err = Merge(nil, nil, nil); err != nil || len(fields) != 0 {
		t.Errorf("nothing: %s, %v", fields, err)
	}
	if _, err = Merge(json.RawMessage(`[]`), nil, nil); err == nil {
		t.Error("a list is merged")
	}
}

// TestKeptSecrets checks which secrets a change must give again.
func TestKeptSecrets(t *testing.T) {
	const before = `{"host":"a","port":80}`
	const why = "The token must be given again, or removed, because it would be sent elsewhere, or with less " +
		"verification."
	token := fieldsOf(t, `{"token":"t"}`)
	for name, c := range map[string]struct {
		change Change
		want   string
	}{
		"the same server": {Change{
			Kept: []string{"token"}, After: json.RawMessage(`{"host":"a","port":80,"path":"/"}`),
		}, "<nil>"},
		"the default": {Change{Kept: []string{"token"}, After: json.RawMessage(`{"host":"a"}`)},
			"<nil>"},
		"another server": {Change{Kept: []string{"token"}, After: json.RawMessage(`{"host":"b"}`)},
			why},
		"another server without a secret": {Change{After: json.RawMessage(`{"host":"b"}`)}, "<nil>"},
		"another server, with the secret": {Change{
			Kept: []string{"token"}, Given: token, After: json.RawMessage(`{"host":"b"}`),
		}, "<nil>"},
		"another server, and another one": {Change{
			Kept: []string{"token", "other"}, Given: token, After: json.RawMessage(`{"host":"b"}`),
		}, strings.Replace(why, "token", "other", 1)},
		"what cannot be read": {Change{Kept: []string{"token"}, After: json.RawMessage(`[]`)}, why},
		"a secret that is the destination": {Change{
			Kept: []string{"token"}, Given: fieldsOf(t, `{"host":"b"}`), After: json.RawMessage(before),
		}, why},
		"the same secret destination": {Change{
			Kept: []string{"token"}, Secrets: fieldsOf(t, `{"host":"b"}`), After: json.RawMessage(before),
		}, "<nil>"},
		"without the secret destination": {Change{
			Kept: []string{"token"}, Secrets: fieldsOf(t, `{"host":"b"}`), Given: fieldsOf(t, `{"host":null}`),
			After: json.RawMessage(`{}`),
		}, why},
	} {
		c.change.Before = json.RawMessage(before)
		if got := refused(CheckKeptSecrets(func() Destined { return newServer() }, c.change)); got != c.want {
			t.Errorf("%s: CheckKeptSecrets refuses %s, want %s", name, got, c.want)
		}
	}
	if got := refused(CheckKeptSecrets(func() Destined {
		return newServer()
	}, Change{Before: json.RawMessage(`[]`), After: json.RawMessage(before), Kept: []string{"token"}})); got != why {
		t.Errorf("from what cannot be read: %s", got)
	}
}

// TestServer checks which URLs are of the same server.
func TestServer(t *testing.T) {
	for text, want := range map[string]string{
		"https://A.example/x?y": "https a.example 443", "HTTPS://a.example:443": "https a.example 443",
		"https://a.example:444/": "https a.example 444",
		"http://a.example/":      "http a.example 80", "ws://a.example/": "ws a.example 80",
		"wss://a.example/":   "wss a.example 443",
		"socks5://a.example": "socks5 a.example 1080", "ftp://a.example": "ftp a.example ",
		"http://user:pass@[::1]:81/": "http ::1 81",
		"a.example":                  "a.example", "": "", "https://%zz/": "https://%zz/", "/path": "/path",
	} {
		if got := Server(text); got != want {
			t.Errorf("Server(%s) = %q, want %q", text, got, want)
		}
	}
}

// TestHeaders checks which headers of requests are refused.
func TestHeaders(t *testing.T) {
	const transfer = "The headers must not contain Host, Content-Length, Transfer-Encoding, Trailer, Connection or " +
		"Upgrade."
	const invalid = "The headers must have names and values of HTTP headers."
	for header, want := range map[string]string{
		"X-Key: a": "<nil>", "X-Key: ": "<nil>", "X-Key: é": "<nil>", "X Key: a": invalid, ": a": invalid,
		"X-Key: a\nb": invalid, "X-Key: a\x00": invalid,
		"host: a": transfer, "Content-Length: 1": transfer, "transfer-encoding: x": transfer, "TRAILER: x": transfer,
		"Connection: close": transfer, "Upgrade: x": transfer,
	} {
		name, value, _ := strings.Cut(header, ": ")
		var bad kernel.ValidationError
		CheckHeaders(&bad, "headers", map[string]string{name: value}, "Host")
		if got := refused(bad.Err()); got != want {
			t.Errorf("CheckHeaders of %q: %s, want %s", header, got, want)
		}
	}
}

// TestShare checks what is left of a field that several types have with other defaults.
func TestShare(t *testing.T) {
	field := func(f Field) []Field { f.Name = "port"; return []Field{f} }
	same := Field{Default: "1", Example: "2", Help: "Port.", Secret: true}
	all := Share(nil, "a", append(field(same), Field{Name: "host"}))
	all = Share(all, "b", field(same))
	if len(all) != 2 || all[0].Default != "1" || all[0].Example != "2" || !all[0].SameHelp() ||
		!all[0].AlwaysSecret() || all[1].AlwaysSecret() {
		t.Errorf("alike: %+v", all)
	}
	all = Share(all, "c", field(Field{Default: "3", Example: "2", Help: "Another port.", Secret: false}))
	port := all[0]
	if port.Default != "" || port.Example != "2" || port.SameHelp() || port.AlwaysSecret() ||
		fmt.Sprint(port.Types()) != "[a b c]" {
		t.Errorf("with another default: %+v", port)
	}
	if port.OfType("c").Default != "3" || port.OfType("a").Default != "1" || port.OfType("x").Help != "Port." {
		t.Errorf("as the types have it: %+v", port)
	}
	if all = Share(all, "d", field(Field{Example: "4"})); all[0].Example != "" || all[0].OfType("d").Example != "4" {
		t.Errorf("with another example: %+v", all[0])
	}
	fields := []Field{{Name: "a"}, {Name: "b", Kind: KindFlag}}
	if f, ok := Find(fields, "b"); !ok || f.Kind != KindFlag {
		t.Errorf("field b: %+v, %t", f, ok)
	}
	if f, ok := Find(fields, "c"); ok || f.Name != "" {
		t.Errorf("field c: %+v, %t", f, ok)
	}
}
