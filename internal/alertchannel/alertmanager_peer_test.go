package alertchannel

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/test/freeport"
)

// TestAlertmanager posts to a real Alertmanager. Without one it is skipped, or fails if
// ALLSWELL_TEST_REQUIRE_ALERTMANAGER is 1.
func TestAlertmanager(t *testing.T) {
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		if os.Getenv("ALLSWELL_TEST_REQUIRE_ALERTMANAGER") == "1" {
			t.Fatal("Alertmanager is not installed")
		}
		t.Skip("skipped: Alertmanager is not installed")
	}
	dir, address := t.TempDir(), freeport.Address(t)
	file := filepath.Join(dir, "alertmanager.yml")
	err = os.WriteFile(file, []byte("route:\n  receiver: nobody\nreceivers:\n- name: nobody\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+file, "--storage.path="+dir, "--web.listen-address="+address,
		"--cluster.listen-address=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	channel := newChannel(t, "alertmanager", `{"server_url":"SERVER"}`, "http://"+address)

	// Now, because Alertmanager forgets what ended long ago.
	now := time.Now().UTC()
	open := newMessage(nil, alert.NoticeOpened, func(a *alert.Alert) {
		a.OpenedAt = now.Add(-time.Hour)
	}, hostile, "Shop")
	open.At = now
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for r := sender.Send(ctx, channel, open); r.Result != audience.SendAccepted; r = sender.Send(ctx, channel, open) {
		if ctx.Err() != nil || !r.Unreachable {
			t.Fatalf("result: %+v", r)
		}
		time.Sleep(20 * time.Millisecond) // until it listens
	}
	expectActive(ctx, t, address, hostile, "Shop")

	over := open
	over.Items = append([]alert.Item(nil), open.Items[0])
	over.Items[0].ResolvedAt = now
	for _, m := range []alert.Message{over, TestMessage(alert.Channel{Name: "Ops"}, "Grace", now)} {
		if r := sender.Send(ctx, channel, m); r.Result != audience.SendAccepted {
			t.Fatalf("result: %+v", r)
		}
	}
	expectActive(ctx, t, address, "Shop", "This alert")
}

// expectActive waits until the alerts of some names are open, and no others.
func expectActive(ctx context.Context, t *testing.T, address string, names ...string) {
	t.Helper()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/api/v2/alerts", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var listed []struct {
			Labels map[string]string `json:"labels"`
		}
		err = json.NewDecoder(resp.Body).Decode(&listed)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		open := make(map[string]bool)
		for _, a := range listed {
			open[a.Labels["name"]] = true
		}
		good := len(open) == len(names)
		for _, name := range names {
			good = good && open[name]
		}
		if good {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("open are %v, not %q", open, names)
		}
	}
}
