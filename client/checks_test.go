package client_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allswell/allswell/client"
)

// TestChecksAreFlat checks that the fields of a type stand beside the others.
func TestChecksAreFlat(t *testing.T) {
	slow := client.DecimalSecondsOf(800 * time.Millisecond)
	for _, tt := range []struct {
		value any
		want  string
	}{
		{client.NewMonitor{Name: "Shop", Type: "http", SlowAfter: &slow, Check: client.Check{"url": "https://x/", "headers": map[string]string{"A": "b"}}},
			`{"type":"http","name":"Shop","slow_after":0.8,"headers":{"A":"b"},"url":"https://x/"}`},
		{client.NewMonitor{Name: "Job", Interval: 60}, `{"name":"Job","interval":60}`},
		{client.MonitorChange{Check: client.Check{"password": nil}}, `{"password":null}`},
		{client.MonitorChange{SlowAfter: client.Null[client.DecimalSeconds]()}, `{"slow_after":null}`},
		{client.CheckTest{Type: "tcp", Check: client.Check{"port": 5432}}, `{"type":"tcp","port":5432}`},
	} {
		got, err := json.Marshal(tt.value)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s, %v; want %s", got, err, tt.want)
		}
	}
	if _, err := json.Marshal(client.NewMonitor{Type: "http", Check: client.Check{"name": "x"}}); err == nil || !strings.Contains(err.Error(), "name") {
		t.Errorf("a field of all monitors in Check: %v", err)
	}
	var m client.Monitor
	if err := json.Unmarshal([]byte(`{"type":"http","name":"Shop","timeout":5,"slow_after":0.8,"grace":null,"schedule":null,"url":"https://x/","port":1,"secrets":["password"]}`), &m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(client.Check{"url": "https://x/", "port": 1.0}, m.Check); diff != "" || m.Name != "Shop" || *m.Timeout != 5 || m.SlowAfter.Duration() != 800*time.Millisecond {
		t.Errorf("%+v, %s", m, diff)
	}
}
