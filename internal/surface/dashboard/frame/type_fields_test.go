package frame

import (
	"testing"

	"github.com/allswell/allswell/internal/resource/configfield"
)

// TestSavedSecretsNeedNoInput checks that a browser saves a form without the secrets that are saved, also required
// ones, and that only those can be removed that are not required.
func TestSavedSecretsNeedNoInput(t *testing.T) {
	fields := []configfield.Field{
		{Name: "url", Label: "URL", Required: true, Secret: true}, {Name: "token", Label: "Token", Secret: true},
	}
	for _, x := range TypeFields(fields, false, []string{"url", "token"}) {
		if !x.Optional && !isRemoval(x) || x.Name == removalPrefix+"url" {
			t.Errorf("%s: optional %t", x.Name, x.Optional)
		}
	}
	if x := TypeFields(fields, false, nil); len(x) != 2 || x[0].Optional || !x[1].Optional {
		t.Errorf("without saved secrets: %+v", x)
	}
}
