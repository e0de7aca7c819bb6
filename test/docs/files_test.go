package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/oasdiff/yaml"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

func TestJSON(t *testing.T) {
	for _, b := range blocksOf(t, "json") {
		if !json.Valid([]byte(b.text)) {
			t.Errorf("%v is not JSON", b)
		}
	}
}

// TestUnits has systemd read the units of deploy.
func TestUnits(t *testing.T) {
	needs(t, "systemd-analyze")
	units := make(map[string]string)
	for _, pattern := range []string{"deploy/*.service", "deploy/*/*.service"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			units[name] = read(t, name)
		}
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	for name, unit := range units {
		// Verifying needs a program and units that exist.
		unit = regexp.MustCompile(`(?m)^(Exec\w+=)\S+`).ReplaceAllString(unit, "${1}"+program)
		unit = regexp.MustCompile(`(?m)^(After=.*) \S*haproxy\S*`).ReplaceAllString(unit, "$1")
		file := filepath.Join(t.TempDir(), "allswell.service")
		write(t, file, unit, 0o644)
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
			file).CombinedOutput()
		if err != nil || strings.Contains(string(out), file) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestPrometheus checks the keys of the configuration of Prometheus.
func TestPrometheus(t *testing.T) {
	for _, b := range blocksIn(t, "docs/metrics.md", "yaml") {
		var configuration struct {
			ScrapeConfigs []struct {
				JobName       string              `json:"job_name"`
				Scheme        string              `json:"scheme"`
				Params        map[string][]string `json:"params"`
				Authorization struct {
					CredentialsFile string `json:"credentials_file"`
				} `json:"authorization"`
				StaticConfigs []struct {
					Targets []string `json:"targets"`
				} `json:"static_configs"`
			} `json:"scrape_configs"`
		}
		asJSON, err := yaml.YAMLToJSON([]byte(b.text))
		if err != nil {
			t.Fatalf("%v: %v", b, err)
		}
		decoder := json.NewDecoder(bytes.NewReader(asJSON))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&configuration); err != nil {
			t.Errorf("%v: %v", b, err)
		}
		if len(configuration.ScrapeConfigs) != 1 || len(configuration.ScrapeConfigs[0].StaticConfigs) != 1 {
			t.Errorf("%v has no targets", b)
		}
	}
}

// newServer starts a server with the page acme and returns it with its admin token.
func newServer(t *testing.T, env ...string) (*binary.Server, *binary.Client) {
	t.Helper()
	s := binary.NewServer(t, binary.Build(t),
		append(env, "ALLSWELL_BOOTSTRAP_TOKEN=a-token-for-the-tests-of-documents")...)
	s.Start()
	c := binary.NewClient(s.URL, "a-token-for-the-tests-of-documents")
	status, err := c.Do(t.Context(), "POST", "/api/v1/pages", map[string]string{"name": "Acme", "slug": "acme"}, nil)
	if err != nil || status != http.StatusCreated {
		t.Fatal(status, err)
	}
	return s, c
}

func get(t *testing.T, address, token string) (status int, contentType, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Content-Type"), string(raw)
}

// TestMetrics checks that the metrics in the documents exist, with the labels that they name.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s, c := newServer(t, "ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on")
	makeDelivery(t, c, s.URL)
	served, tick := "", time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(served, "allswell_delivery_attempts_total") &&
		time.Now().Before(deadline); <-tick.C {
		_, _, served = get(t, s.URL+"/metrics", c.Token)
	}
	var monitor struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	status, err := c.Do(t.Context(), "POST",
		"/api/v1/monitors", map[string]any{"name": "Backup", "interval": 60}, &monitor)
	if err != nil || status != http.StatusCreated {
		t.Fatal(status, err)
	}
	_, _, ofMonitor := get(t, s.URL+"/metrics?monitor="+monitor.Data.ID, c.Token)
	served += ofMonitor
	manual := read(t, "docs/metrics.md")
	var alerts strings.Builder
	for _, b := range blocksOf(t, "promql") {
		alerts.WriteString(b.text)
	}
	for _, name := range regexp.MustCompile(`\b(?:allswell|process)_[a-z_]+[a-z]\b`).FindAllString(
		alerts.String(), -1,
	) {
		if !strings.Contains(served, "# HELP "+name+" ") {
			t.Errorf("docs/metrics.md names the metric %s, which does not exist", name)
		}
	}
	for _, m := range regexp.MustCompile("`(allswell_\\w+)(?:\\{([a-z, ]+)\\})?`").FindAllStringSubmatch(manual, -1) {
		if strings.HasPrefix(m[1], "allswell_monitor_check_") {
			continue // it needs a check in a period that is complete: see TestMonitorMetrics of internal/server
		}
		if !strings.Contains(served, "# HELP "+m[1]+" ") {
			t.Errorf("docs/metrics.md names the metric %s, which does not exist", m[1])
			continue
		}
		series := regexp.MustCompile(`(?m)^` + m[1] + `(?:_bucket)?\{(.*?)\}`).FindStringSubmatch(served)
		for _, label := range strings.Split(m[2], ", ") {
			if label != "" && series != nil && !strings.Contains(series[1], label+"=") {
				t.Errorf("%s has no label %s: %s", m[1], label, series[0])
			}
		}
	}
}

// makeDelivery lets the server attempt a delivery, without which its metric has no series.
func makeDelivery(t *testing.T, c *binary.Client, url string) {
	t.Helper()
	for _, create := range []struct {
		path string
		body map[string]string
	}{
		{"subscribers", map[string]string{"channel": "webhook", "target": url}},
		{"incidents", map[string]string{"title": "Delivered"}},
	} {
		status, err := c.Do(t.Context(), "POST", "/api/v1/pages/acme/"+create.path, create.body, nil)
		if err != nil || status != http.StatusCreated {
			t.Fatal(create.path, status, err)
		}
	}
}

// TestWidgets checks that what the HTML samples include is served.
func TestWidgets(t *testing.T) {
	t.Parallel()
	server, _ := newServer(t)
	types := map[string]int{"text/javascript; charset=utf-8": 0, "text/html; charset=utf-8": 0}
	for _, b := range blocksOf(t, "html") {
		for _, src := range regexp.MustCompile(`src="https://status\.example\.com([^"]*)"`).FindAllStringSubmatch(
			b.text, -1,
		) {
			status, contentType, _ := get(t, server.URL+src[1], "")
			if status != http.StatusOK {
				t.Errorf("%v: %s: %d", b, src[1], status)
			}
			types[contentType]++
		}
	}
	for contentType, n := range types {
		if n != 1 {
			t.Errorf("%d addresses of %s", n, contentType)
		}
	}
}

// TestBadges gets the badges that the documents embed, also the one that shields.io requests.
func TestBadges(t *testing.T) {
	t.Parallel()
	s, c := newServer(t)
	for _, b := range blocksOf(t, "markdown") {
		addresses := regexp.MustCompile(`https://[^)\]]+`).FindAllString(b.text, -1)
		for _, address := range addresses {
			if u, err := url.Parse(address); err != nil {
				t.Error(err)
			} else if u.Host == "img.shields.io" {
				address = u.Query().Get("url")
			}
			local, ok := strings.CutPrefix(address, "https://status.example.com")
			if !ok {
				t.Errorf("the address in a badge: %v has %s", b, address)
			}
			if status, kind, _ := get(t, s.URL+local, c.Token); status != http.StatusOK {
				t.Errorf("%v: %s: %d %s", b, address, status, kind)
			}
		}
		if len(addresses) == 0 {
			t.Errorf("%v has no address", b)
		}
	}
}

// TestSamplesInJavaScript has Node.js parse the samples. Package page runs the client that docs/statuspage.md names.
func TestSamplesInJavaScript(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("ALLSWELL_TEST_REQUIRE_NODE") == "1" {
			t.Fatal(err)
		}
		t.Skip("skipped: ", err)
	}
	for _, b := range blocksOf(t, "js") {
		file := filepath.Join(t.TempDir(), "sample.js")
		write(t, file, "async function sample() {\n"+b.text+"}\n", 0o644)
		if out, err := exec.Command("node", "--check", file).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", b, err, out)
		}
	}
}

// TestPython verifies a message with the sample of docs/webhooks.md: it accepts the message and rejects another body.
func TestPython(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	type message struct {
		Header map[string]string
		Body   string
	}
	received := make(chan message, 1)
	_, c := newServer(t, "ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on")
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		header := make(map[string]string)
		for name := range r.Header {
			header[strings.ToLower(name)] = r.Header.Get(name)
		}
		w.WriteHeader(http.StatusNoContent)
		select {
		case received <- message{header, string(body)}:
		default:
		}
	}))
	t.Cleanup(receiver.Close)
	var created struct{ Data struct{ Secret string } }
	status, err := c.Do(t.Context(), "POST",
		"/api/v1/pages/acme/subscribers", map[string]string{"channel": "webhook", "target": receiver.URL}, &created)
	if err != nil || status != http.StatusCreated {
		t.Fatal(status, err)
	}
	status, err = c.Do(t.Context(), "POST", "/api/v1/pages/acme/incidents", map[string]string{"title": "Signed"}, nil)
	if err != nil || status != http.StatusCreated {
		t.Fatal(status, err)
	}
	sent := <-received
	input, err := json.Marshal(map[string]any{"secret": created.Data.Secret, "headers": sent.Header, "body": sent.Body})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocksIn(t, "docs/webhooks.md", "python") {
		cmd := exec.Command("python3", "-c", b.text+`
import json, sys
m = json.load(sys.stdin)
print(verify(m["secret"], m["headers"], m["body"].encode()), verify(m["secret"], m["headers"], b"{}"))
`)
		cmd.Stdin = strings.NewReader(string(input))
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "True False\n" {
			t.Errorf("%v: %v\n%s", b, err, out)
		}
	}
}

// TestConfigurationFile has a command read the settings that the documents show as a file.
func TestConfigurationFile(t *testing.T) {
	t.Parallel()
	exe := binary.Build(t)
	for _, b := range blocksOf(t, "env") {
		dir := t.TempDir()
		file := filepath.Join(dir, "allswell.env")
		write(t, file, b.text+"ALLSWELL_DATABASE=sqlite:"+filepath.Join(dir, "allswell.db")+"\n", 0o600)
		if out, err := exec.Command(exe, "migrate", "--config", file).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", b, err, out)
		}
	}
}

// TestPostgreSQL runs the SQL of docs/scaling.md, and the command that creates the tables with the documented address.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	exe := binary.Build(t)
	address, err := url.Parse(storetest.EmptyPostgreSQL(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	db, err := pgx.Connect(ctx, address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, statement := range []string{"DROP DATABASE IF EXISTS documented", "DROP ROLE IF EXISTS documented"} {
			if _, err := db.Exec(ctx, statement); err != nil {
				t.Error(err)
			}
		}
		db.Close(ctx)
	})
	other := strings.NewReplacer("allswell", "documented") // the cluster of the tests has an allswell
	for _, b := range blocksOf(t, "sql") {
		for statement := range strings.Lines(other.Replace(b.text)) {
			if _, err := db.Exec(ctx, statement); err != nil {
				t.Errorf("%v: %v", b, err)
			}
		}
	}
	documented := regexp.MustCompile(`ALLSWELL_DATABASE='(postgres://[^']+)'`).FindStringSubmatch(read(t,
		"docs/scaling.md"))
	if documented == nil {
		t.Fatal("docs/scaling.md has no address")
	}
	u, err := url.Parse(other.Replace(documented[1]))
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	if query.Get("sslmode") != "verify-full" {
		t.Errorf("the documented address has sslmode %q", query.Get("sslmode"))
	}
	u.Host, u.RawQuery = address.Host, address.RawQuery
	out, err := binary.NewServer(t, exe, "ALLSWELL_DATABASE="+u.String()).Command("migrate")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
