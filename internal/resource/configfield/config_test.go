package configfield

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

var serverTypes = Types{Noun: "server", Size: 1000, All: []Type{
	{"server", serverFields, func() Destined { return newServer() }}, {"other", []Field{{Name: "other"}}, nil},
}}

const elsewhere = "The token must be given again, or removed, because it would be sent elsewhere, or with less " +
	"verification."

// changes are given values, and what they make of a configuration with a secret: if they change it, and if they
// replace it.
var changes = map[string]struct{ change, replace string }{
	`{}`: {`{"host":"a","port":1} [token] "t" map[]`, "The host field is required."},
	`{"host":"a","port":1}`: {`{"host":"a","port":1} [token] "t" map[]`,
		`{"host":"a","port":1} [token] "t" map[]`},
	`{"host":"a","path":"/"}`: {`{"host":"a","path":"/","port":1} [token] "t" map[]`, elsewhere},
	`{"path":"/"}`: {`{"host":"a","path":"/","port":1} [token] "t" map[]`,
		"The host field is required."},
	`{"host":"b"}`: {elsewhere, elsewhere},
	`{"host":"b","token":"t"}`: {`{"host":"b","port":1} [token] "t" map[]`,
		`{"host":"b","port":80} [token] "t" map[]`},
	`{"host":"b","token":"u"}`: {`{"host":"b","port":1} [token] "u" map[token:1]`,
		`{"host":"b","port":80} [token] "u" map[token:1]`},
	`{"host":"b","token":null}`: {`{"host":"b","port":1} []  map[token:1]`,
		`{"host":"b","port":80} []  map[token:1]`},
	`{"host":"a","port":0,"other":1}`: {"A server of the type server has no other. The port must be from 1 to 100.",
		"A server of the type server has no other. The port must be from 1 to 100."},
	`{"other":1}`: {"A server of the type server has no other.",
		"The host field is required. A server of the type server has no other."},
	`{"other":null}`: {`{"host":"a","port":1} [token] "t" map[]`, "The host field is required."},
}

// TestChange checks what given values make of a configuration with a secret.
func TestChange(t *testing.T) {
	for given, want := range changes {
		for replace, want := range map[bool]string{false: want.change, true: want.replace} {
			c := Config{
				Type: "server", Shown: json.RawMessage(`{"host":"a","port":1}`), Secrets: fieldsOf(t, `{"token":"t"}`),
				SecretFields: []string{"token"},
			}
			got := refused(serverTypes.Change(&c, fieldsOf(t, given), replace))
			if got == "<nil>" {
				got = fmt.Sprintf("%s %s %s %v", c.Shown, c.SecretFields, c.Secrets["token"], c.Versions)
			}
			if got != want {
				t.Errorf("Change by %s, replace %t: %s, want %s", given, replace, got, want)
			}
		}
	}

}

// TestChangeOfOtherConfigurations changes a new configuration, one whose secret is lost, and one of an unknown type.
func TestChangeOfOtherConfigurations(t *testing.T) {
	made := Config{Type: "server"}
	err := serverTypes.Change(&made, fieldsOf(t, `{"host":"a","token":"t"}`), false)
	if err != nil || string(made.Shown) != `{"host":"a","port":80}` || len(made.Versions) != 0 {
		t.Errorf("a new one: %+v, %v", made, err)
	}
	lost := Config{
		Type: "server", Shown: json.RawMessage(`{"host":"a"}`), SecretFields: []string{"token"},
		Versions: kernel.SecretVersions{"token": 2},
	}
	err = serverTypes.Change(&lost, fieldsOf(t, `{"path":"/"}`), false)
	if err != nil || fmt.Sprint(lost.SecretFields, lost.Secrets) != "[token] map[]" {
		t.Errorf("one whose secret cannot be decrypted: %+v, %v", lost, err)
	}
	err = serverTypes.Change(&lost, fieldsOf(t, `{"token":"t"}`), false)
	if err != nil || lost.Versions["token"] != 3 {
		t.Errorf("after the secret was given again: %+v, %v", lost, err)
	}
	if err := serverTypes.Change(&Config{Type: "unknown"}, fieldsOf(t, `{"host":1}`), false); err != nil {
		t.Errorf("an unknown type: %v", err)
	}
}
