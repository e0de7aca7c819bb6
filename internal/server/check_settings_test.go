package server

import (
	"reflect"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/checker"
)

// checkDefaults are the values of empty settings.
var checkDefaults = CheckConfig{Private: checker.PrivateAuto, Concurrency: checker.DefaultConcurrency}

func TestCheckSettings(t *testing.T) {
	got, err := Settings{CheckSettings: CheckSettings{
		Location: "eu-west", CheckCanaries: "192.0.2.1:443, [2001:db8::1]:53", CheckPrivate: "OFF", CheckSelf: "on", CheckConcurrency: "10",
	}}.Parse()
	want := CheckConfig{
		Location: "eu-west", Canaries: []check.Target{{Host: "192.0.2.1", Port: 443}, {Host: "2001:db8::1", Port: 53}},
		Private: checker.PrivateOff, Self: true, Concurrency: 10,
	}
	if err != nil || !reflect.DeepEqual(got.Checks, want) {
		t.Errorf("got %+v, %v; want %+v", got.Checks, err, want)
	}
	for want, s := range map[string]CheckSettings{
		"ALLSWELL_LOCATION (--location) must be a name":              {Location: "a|b"},
		"ALLSWELL_CHECK_CANARIES (--check-canaries) must be up to":   {CheckCanaries: "example.com"},
		"ALLSWELL_CHECK_PRIVATE (--check-private) must be auto, on":  {CheckPrivate: "maybe"},
		"ALLSWELL_CHECK_SELF (--check-self) must be on or off":       {CheckSelf: "maybe"},
		"ALLSWELL_CHECK_CONCURRENCY (--check-concurrency) must be a": {CheckConcurrency: "0"},
	} {
		if _, err := (Settings{CheckSettings: s}).Parse(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", s, err, want)
		}
	}
}
