package alertchannel

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestNamesInOtherScripts checks that every host of every type of channel is in ASCII before it is used.
func TestNamesInOtherScripts(t *testing.T) {
	tried := 0
	for _, typ := range Types {
		for _, f := range typ.Fields {
			value := ""
			switch {
			case strings.HasPrefix(f.Example, "http"):
				value = "https://HOST:8443/x"
			case f.Name == "to" && typ.Name == "email":
				value = "ann@HOST"
			default:
				continue
			}
			tried++
			for host, want := range map[string]string{
				"Bücher.example": "xn--bcher-kva.example", "ü\u202e.example": "",
			} {
				c := typ.New()
				text, err := json.Marshal(map[string]string{f.Name: strings.ReplaceAll(value, "HOST", host)})
				if err != nil || json.Unmarshal(text, c) != nil {
					t.Fatalf("%s: %s, %v", typ.Name, text, err)
				}
				var bad kernel.ValidationError
				c.Validate(&bad)
				got, err := json.Marshal(c)
				if err != nil || bad.Has(f.Name) == (want != "") || want != "" && !strings.Contains(string(got), want) {
					t.Errorf("%s %s %s: %s, %v, %v", typ.Name, f.Name, host, got, bad.Messages()[f.Name], err)
				}
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d fields have a host", tried)
	}
}
