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
		{client.NewMonitor{
			Name: "Shop", Type: "http", SlowAfter: &slow,
			Check: client.Check{"url": "https://x/", "headers": map[string]string{"A": "b"}},
		},
			`{"name":"Shop","type":"http","slow_after":0.8,"headers":{"A":"b"},"url":"https://x/"}`},
		{client.NewMonitor{Name: "Job", Interval: 60}, `{"name":"Job","interval":60}`},
		{client.MonitorChange{Check: client.Check{"password": nil}}, `{"password":null}`},
		{client.MonitorChange{SlowAfter: client.Null[client.DecimalSeconds]()}, `{"slow_after":null}`},
		{client.CheckTest{Type: "tcp", Check: client.Check{"port": 5432}}, `{"type":"tcp","port":5432}`},
	} {
		got, err := json.Marshal(tt.value)
		if err != nil || string(got) != tt.want {
			t.Errorf("json.Marshal = %s, %v; want %s", got, err, tt.want)
		}
	}
	_, err := json.Marshal(client.NewMonitor{Type: "http", Check: client.Check{"name": "x"}})
	if err == nil || !strings.Contains(err.Error(), "name") {
		t.Errorf("a field of all monitors in Check: %v", err)
	}
	var m client.Monitor
	err = json.Unmarshal(
		[]byte(`{"type":"http","name":"Shop","timeout":5,"slow_after":0.8,"grace":null,"schedule":null,`+
			`"url":"https://x/","port":1,"secrets":["password"]}`),
		&m,
	)
	if err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff(client.Check{"url": "https://x/", "port": 1.0}, m.Check)
	if diff != "" || m.Name != "Shop" || *m.Timeout != 5 || m.SlowAfter.Duration() != 800*time.Millisecond {
		t.Errorf("decoding a check monitor: %+v, unexpected fields %s", m, diff)
	}
}

// TestChannelFields checks that the fields of a type of channels are read and written beside the others.
func TestChannelFields(t *testing.T) {
	var ch client.Channel
	err := json.Unmarshal(
		[]byte(`{"id": "chn_1", "type": "webhook", "url": "https://example.com", "max_per_minute": 10}`), &ch,
	)
	if err != nil {
		t.Fatal(err)
	}
	if ch.ID != "chn_1" || ch.MaxPerMinute != 10 || len(ch.Fields) != 1 || ch.Fields["url"] != "https://example.com" {
		t.Errorf("read %+v", ch)
	}
	raw, err := json.Marshal(client.NewChannel{Type: "webhook", Name: "Ops", Fields: ch.Fields})
	if want := `{"type":"webhook","name":"Ops","url":"https://example.com"}`; err != nil || string(raw) != want {
		t.Errorf("written %s, %v, want %s", raw, err, want)
	}
	_, err = json.Marshal(client.ChannelChange{Name: new("x"), Fields: client.ChannelFields{"name": "y"}})
	if err == nil {
		t.Error("a field of all channels can be given twice")
	}
}
