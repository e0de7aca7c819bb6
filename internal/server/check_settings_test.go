package server

import (
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/worker/checker"
)

// checkDefaults are the values of empty settings.
var checkDefaults = CheckConfig{Private: checker.PrivateAuto, Concurrency: checker.DefaultConcurrency}

func TestCheckSettings(t *testing.T) {
	got, err := Settings{CheckSettings: CheckSettings{
		Location: "eu-west", CheckCanaries: "192.0.2.1:443, [2001:db8::1]:53", CheckPrivate: "OFF", CheckSelf: "on",
		CheckConcurrency: "10",
	}}.Parse()
	want := CheckConfig{
		Location: "eu-west", Canaries: []check.Target{{Host: "192.0.2.1", Port: 443}, {Host: "2001:db8::1", Port: 53}},
		Private: checker.PrivateOff, Self: true, Concurrency: 10,
	}
	if err != nil || !reflect.DeepEqual(got.Checks, want) {
		t.Errorf("the settings of checks: %+v, %v; want %+v", got.Checks, err, want)
	}
	for want, s := range map[string]CheckSettings{
		"ALLSWELL_LOCATION (--location) must be a name":              {Location: "a|b"},
		"ALLSWELL_CHECK_CANARIES (--check-canaries) must be up to":   {CheckCanaries: "example.com"},
		"ALLSWELL_CHECK_PRIVATE (--check-private) must be auto, on":  {CheckPrivate: "maybe"},
		"ALLSWELL_CHECK_SELF (--check-self) must be on or off":       {CheckSelf: "maybe"},
		"ALLSWELL_CHECK_CONCURRENCY (--check-concurrency) must be a": {CheckConcurrency: "0"},
	} {
		if _, err := (Settings{CheckSettings: s}).Parse(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error for %+v: %v, want %s", s, err, want)
		}
	}
}

// TestEveryListenerIsKnown: checks are kept from all addresses on which this process listens.
func TestEveryListenerIsKnown(t *testing.T) {
	var open [3]net.Listener
	var all []netip.AddrPort
	for i := range open {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		open[i], all = l, append(all, l.Addr().(*net.TCPAddr).AddrPort())
	}
	for s, want := range map[*Server][]netip.AddrPort{
		{listener: open[0]}: all[:1], {listener: open[0], redirectListener: open[1]}: all[:2],
		{listener: open[0], redirectListener: open[1], metricsListener: open[2]}: all,
	} {
		if got := s.listeners(); !slices.Equal(got, want) {
			t.Errorf("listens on %v, want %v", got, want)
		}
	}
}
