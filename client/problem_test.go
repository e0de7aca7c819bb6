package client_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestProblemsArrive checks what the client makes of the problems that a server sends.
func TestProblemsArrive(t *testing.T) {
	for code, args := range map[string]struct{ given, want []any }{
		kernel.Required:   {nil, []any{}},
		"is no %s":        {[]any{"zone"}, []any{"zone"}},
		"is not after %s": {[]any{kernel.Name("shown_from")}, []any{client.FieldName("shown_from")}},
		"The %s or a %s must have {text}.": {
			[]any{kernel.Name("body"), kernel.Name("target_url")},
			[]any{client.FieldName("body"), client.FieldName("target_url")},
		},
		"is 100%% from %d to %d %s, not %q": {
			[]any{time.Minute / time.Second, int64(90), kernel.StatusDegraded, `"the %s"`},
			[]any{60, 90, "degraded", `"the %s"`},
		},
		"The network %s is wrong: %v.": {
			[]any{netip.MustParsePrefix("10.0.0.0/8"), errors.New("the url")}, []any{"10.0.0.0/8", "the url"},
		},
	} {
		var bad kernel.ValidationError
		bad.Add("schedule.x", code, args.given...)
		sent, err := json.Marshal(bad.Problems[0])
		if err != nil {
			t.Fatal(err)
		}
		got := received(t, sent)
		if !reflect.DeepEqual(got, client.Problem{Field: "schedule.x", Code: code, Args: args.want}) {
			t.Errorf("%s has become %#v", sent, got)
		}
	}
	if got := received(t, []byte(`{"field": "x", "code": "must be %v", "args": [1.5]}`)); got.Args[0] != "1.5" {
		t.Errorf("of a newer server: %#v", got)
	}
}

// TestProblemsOfOtherServers checks that a code that does not fit its arguments is a text.
func TestProblemsOfOtherServers(t *testing.T) {
	for code, want := range map[string]string{
		`is %s`: "is %%s", `is %999999999d`: "is %%999999999d", `is 50%`: "is 50%%", `%[2]s`: "%%[2]s",
	} {
		sent := `{"field": "x", "code": "` + code + `", "args": []}`
		if got := received(t, []byte(sent)); got.Code != want || len(got.Args) > 0 {
			t.Errorf("%s has become %#v", sent, got)
		}
	}
	one := `{"field": "x", "code": "is %s of %s", "args": [1]}`
	if got := received(t, []byte(one)); got.Code != "is %%s of %%s" || len(got.Args) > 0 {
		t.Errorf("%s has become %#v", one, got)
	}
	escaped := `{"field": "x", "code": "is %d%%s", "args": [1]}`
	if got := received(t, []byte(escaped)); got.Code != "is %d%%s" || !reflect.DeepEqual(got.Args, []any{1}) {
		t.Errorf("%s has become %#v", escaped, got)
	}
}

func received(t *testing.T, sent []byte) (p client.Problem) {
	t.Helper()
	if err := json.Unmarshal(sent, &p); err != nil {
		t.Fatalf("decoding the problem %s: %v", sent, err)
	}
	return p
}
