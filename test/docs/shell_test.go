package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
	"github.com/allswell/allswell/test/freeport"
	"github.com/allswell/allswell/test/subprocess"
)

// prelude starts a server before the blocks of a document. The environment has DIR, LISTEN and URL.
const prelude = `set -euo pipefail
export ALLSWELL_DATABASE=sqlite:$DIR/var/lib/allswell/allswell.db ALLSWELL_URL=$URL
start() {
	ALLSWELL_LISTEN=$LISTEN ALLSWELL_BASE_URL=https://status.example.com ALLSWELL_DNS_SERVER=127.0.0.1:9 ALLSWELL_CHECK_INTERVAL=1s ALLSWELL_SMS_CHANNEL=Phones allswell serve >>$DIR/server.out 2>>$DIR/server.err &
	echo $! >$DIR/pid
	for _ in $(seq 600); do
		if curl -fs -o $DIR/ready $URL/readyz; then return; fi
		sleep 0.05
	done
	cat $DIR/server.err
	exit 1
}
stop() {
	kill $(cat $DIR/pid)
	wait $(cat $DIR/pid) || true
}
trap stop EXIT
trap 'exit 1' TERM
sudo() { while [[ $1 == -u ]]; do shift 2; done; "$@"; }
systemctl() { case $1 in stop | start) $1 ;; esac }
journalctl() { allswell delivery list --page acme; }
id_of() { # PATH PATTERN: the id of the first object of a list
	curl -fsS -H "Authorization: Bearer $ADMIN_TOKEN" "$URL/api/v1/$1" | tr '{' '\n' | { grep -v '"name":"admin token (first start)"' || true; } |
		grep -o "\"id\":\"$2[^\"]*" | head -1 | cut -d'"' -f4
}
start
export ADMIN_TOKEN=$(grep -o 'aw_[A-Za-z0-9]*' $DIR/server.out | head -1)
export ALLSWELL_TOKEN=$ADMIN_TOKEN
`

// given creates what most documents take for granted. README.md and docs/api.md create it themselves.
const given = `{
allswell page create --name Acme
allswell component create --page acme --name Backups
allswell monitor create --page acme --component backups --name "Nightly backup" --interval 25h
allswell incident open --page acme --title "An incident"
allswell maintenance plan --page acme --title "A maintenance" --in 1h --for 1h
allswell subscriber add --page acme --email first@example.com
allswell token create --name example --scope read
} >$DIR/given
`

// otherWorkspace uses a workspace whose pages have to prove their domains.
const otherWorkspace = `ADMIN_TOKEN=$(allswell token create --name other --workspace other --scope admin 2>/dev/null)
export ALLSWELL_TOKEN=$ADMIN_TOKEN
`

// releases has the files of a release that the documents name, and images their container image, which
// deploy/compose.yaml uses.
const releases = `curl() {
	local address=${!#}
	case $address in
	https://github.com/allswell/allswell/releases/latest/download/install.sh) echo true ;;
	https://github.com/allswell/allswell/releases/latest/download/allswell_amd64.deb) ;;
	https://healthchecks.io/api/v3/checks/) echo '{"checks": [
		{"name": "Weekly report", "slug": "weekly-report", "grace": 300, "ping_url": "https://hc-ping.com/0c4f1c1e-6c5b-4c5e-8f5f-3a0f6f6d2b10", "timeout": 86400},
		{"name": "It'"'"'s $(late)", "slug": "", "grace": 60, "ping_url": "https://hc-ping.com/0c4f1c1e-6c5b-4c5e-8f5f-3a0f6f6d2b11", "schedule": "30 2 * * *", "tz": "Europe/Berlin"},
		{"name": "", "slug": "disk", "grace": 60, "ping_url": "https://hc-ping.com/0c4f1c1e-6c5b-4c5e-8f5f-3a0f6f6d2b12", "schedule": "*-*-* 06:00:00", "tz": "UTC"},
		{"name": "Under", "slug": "DB_back.up", "grace": 60, "ping_url": "https://hc-ping.com/0c4f1c1e-6c5b-4c5e-8f5f-3a0f6f6d2b13", "schedule": "Mon,Wed *-*-* 06:00", "tz": "UTC"},
		{"name": "Five words", "slug": "five", "grace": 60, "ping_url": "https://hc-ping.com/0c4f1c1e-6c5b-4c5e-8f5f-3a0f6f6d2b14", "schedule": "Mon..Fri   *-*-01..07   06:00    Europe/Berlin", "tz": "UTC"},
		{"name": "Twice", "slug": "twice", "grace": 60, "ping_url": "https://hc-ping.com/0c4f1c1e-6c5b-4c5e-8f5f-3a0f6f6d2b15", "schedule": "0 0  L * *", "tz": "UTC"},
		{"name": "Twice more", "slug": "twice", "grace": 60, "ping_url": "https://hc-ping.com/0c4f1c1e-6c5b-4c5e-8f5f-3a0f6f6d2b16", "timeout": 60},
		{"name": "Lines", "slug": "lines", "grace": 60, "ping_url": "https://hc-ping.com/0c4f1c1e-6c5b-4c5e-8f5f-3a0f6f6d2b17", "schedule": "Mon 06:00\nTue 07:00", "tz": "UTC"}]}' ;;
	https://github.com/*) echo "a release has no $address" >&2; return 1 ;;
	*) command curl "$@" ;;
	esac
}
kubectl() { echo '{"items": [{"metadata": {"namespace": "shop", "name": "nightly.export"}, "spec": {"schedule": "30 2 * * *", "timeZone": "Europe/Berlin"}},
	{"metadata": {"namespace": "shop", "name": "prune"}, "spec": {"schedule": "@daily", "suspend": false}},
	{"metadata": {"namespace": "shop-prune", "name": "a", "uid": "x"}, "spec": {"schedule": "bad", "suspend": true}},
	{"metadata": {"namespace": "shop", "name": "often", "uid": "x"}, "spec": {"schedule": "@every 1h"}},
	{"metadata": {"namespace": "shop", "name": "a-name-that-is-of-the-greatest-length-that-is-allowed-here-x", "uid": "0c4f1c1e-6c5b-4c5e-8f5f-3a0f6f6d2b18"},
		"spec": {"schedule": "@daily"}}]}'; }
apt() { [[ $1 == install && ${!#} == ./allswell_amd64.deb ]]; }
docker() { grep -q "image: ${!#}:latest" $ROOT/deploy/compose.yaml; }
`

// draft waits for the draft of an outage.
const draft = `allswell page edit acme --auto-incidents draft >>$DIR/given
curl -fsS -o $DIR/ping "$(allswell monitor create --name "Nightly export" --interval 1s --failure-threshold 1 | grep -o 'https*://[^ ]*heartbeat/[^ ]*' |
	sed "s|https://status.example.com|$URL|")"
for _ in $(seq 300); do
	if allswell incident list --drafts | grep -q "Nightly export"; then break; fi
	sleep 0.1
done
`

// stubs replace programs that change the machine, by name.
var stubs = map[string]string{
	"useradd": `exit 0`,
	"install": `for last; do :; done; mkdir -p "$last"`,
	// The demo has a test in test/scripts, and go test would run this one.
	"go": `case "$*" in "run ./cmd/allswell demo" | "test ./..." | "install ./cmd/allswell" | "build -o allswell ` +
		`./cmd/allswell") ;; *) exit 1 ;; esac`,
	"git":    `mkdir -p allswell`,
	"backup": `exit 0`,
}

// placeholders are what a reader replaces, and what the test replaces it with.
var placeholders = strings.NewReplacer(
	"http://localhost:8080", "$URL", "https://status.example.com", "$URL",
	"aw_…", "$ADMIN_TOKEN",
	"heartbeat/…",
	"heartbeat/$(curl -fsS -H \"Authorization: Bearer $ADMIN_TOKEN\" $URL/api/v1/monitors | grep -o "+
		"'\"token\":\"[^\"]*' | head -1 | cut -d'\"' -f4)",
	"PING_KEY",
	"$(curl -fsS -X PATCH -H \"Authorization: Bearer $ADMIN_TOKEN\" -H 'Content-Type: application/json' -d "+
		"'{\"access\":\"read_write\"}' $URL/api/v1/pages/acme/ping-key | cut -d'\"' -f6)",
	"comp_…", "$(id_of pages/acme/components comp_)", "mon_…", "$(id_of monitors mon_)", "mnt_…",
	"$(id_of pages/acme/maintenances mnt_)",
	"sub_…", "$(id_of pages/acme/subscribers sub_)", "dlv_…", "$(id_of 'pages/acme/deliveries?state=pending' dlv_)",
	"tok_…", "$(id_of tokens tok_)",
	"019aa45c-…", "$(id_of pages/acme/incidents 0)",
	"/var/", "$DIR/var/", "/etc/", "$DIR/etc/", "/usr/local/bin/", "$DIR/bin/", "2026-11-21.db", "$(date +%F).db",
)

// TestShell runs the shell blocks of each document, one after the other, beside a server. Comments that follow a
// command and look like output must have the keys of the output.
func TestShell(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "curl")
	exe := binary.Build(t)
	for _, file := range documents(t) {
		var shell []block
		for _, b := range blocks(t, file) {
			if b.language == "sh" {
				shell = append(shell, b)
			}
		}
		if len(shell) == 0 {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			if name := filepath.Base(file); name == "moving.md" || name == "recipes.md" {
				needs(t, "jq")
			}
			runShell(t, exe, shell)
		})
	}
}

func runShell(t *testing.T, exe string, shell []block) {
	dir := t.TempDir()
	fillSystem(t, dir, exe)

	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	script := scriptOf(shell)
	write(t, filepath.Join(dir, "script"), script, 0o644)

	address := freeport.Address(t)
	cmd := exec.Command("bash", filepath.Join(dir, "script"))
	cmd.Dir = filepath.Join(dir, "work")
	cmd.Env = []string{
		"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir, "DIR=" + dir,
		"ROOT=" + repository, "LISTEN=" + address, "URL=http://" + address, "TZ=UTC",
	}
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	process, err := subprocess.Start(cmd, "TERM", "")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-process.Gone():
	case <-time.After(2 * time.Minute): // on a machine that is busy with other tests
		t.Error("the commands take too long")
		process.Signal(os.Interrupt)
	}
	failed := process.Wait()
	raw, err := os.ReadFile(output.Name())
	if err != nil {
		t.Fatal(err)
	}
	outputs := splitOutput(string(raw))
	for i, b := range shell {
		text, ran := outputs[fmt.Sprint(i)]
		if !ran {
			t.Fatalf("%v did not run: %v\n%s", b, failed, raw)
		}
		checkOutput(t, b, text)
	}
	if _, ended := outputs["end"]; !ended || failed != nil {
		t.Errorf("%v\n%s", failed, raw)
	}
}

// fillSystem creates the files and programs that commands of the documents need.
func fillSystem(t *testing.T, dir, exe string) {
	t.Helper()
	for _, folder := range []string{"bin", "work", "var/lib/allswell", "var/backups", "etc/allswell"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	migrated, err := os.ReadFile(strings.TrimPrefix(storetest.SQLite(t), "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "var/lib/allswell/allswell.db"), string(migrated), 0o600)
	for name, body := range stubs {
		write(t, filepath.Join(dir, "bin", name), "#!/bin/sh\n"+body+"\n", 0o755)
	}
	if err := os.Symlink(exe, filepath.Join(dir, "bin", "allswell")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "work", "logo.svg"), `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>`,
		0o644)
	write(t, filepath.Join(dir, "work", "people.csv"), "name,email\nGrace,grace@example.com\n", 0o644)
	write(t, filepath.Join(dir, "work", "theme.css"), ":root { --radius: 0 }\n", 0o644)
	write(t, filepath.Join(dir, "work", "icon.png"),
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00", 0o644)
}

// scriptOf is a script with the commands of a document, and what they take as given.
func scriptOf(shell []block) string {
	script := prelude + releases
	switch shell[0].file {
	case "README.md", "docs/api.md":
	case "docs/incidents.md":
		script += given + draft
	case "docs/upgrading.md":
		script += given +
			"mkdir -p $DIR/var/backups/allswell; allswell backup $DIR/var/backups/allswell/$(date +%F).db\n"
	case "docs/pages.md":
		script += otherWorkspace + given
	default:
		script += given
	}
	for i, b := range shell {
		script += fmt.Sprintf("echo; echo '@@ %d'\n", i) + runnable(b.text)
	}
	script += "echo; echo '@@ end'\n"
	return script
}

// runnable returns the commands of a block with placeholders replaced. The server runs already.
func runnable(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "allswell serve" && !strings.HasPrefix(line, "#") {
			kept.WriteString(line)
		}
	}
	return placeholders.Replace(kept.String())
}

// splitOutput returns the output of each block, by what follows its mark.
func splitOutput(raw string) map[string]string {
	outputs := make(map[string]string)
	for _, part := range strings.Split("\n"+raw, "\n@@ ")[1:] {
		mark, text, _ := strings.Cut(part, "\n")
		outputs[mark] = text
	}
	return outputs
}

var (
	jsonKey = regexp.MustCompile(`"(\w+)":`)
	label   = regexp.MustCompile(`(?m)^# ([A-Z][\w ]*:)  `)
)

// checkOutput checks that the output of a block has the JSON keys and labels of its comments, and no error that they
// do not show.
func checkOutput(t *testing.T, b block, output string) {
	t.Helper()
	var comments strings.Builder
	for line := range strings.Lines(b.text) {
		if strings.HasPrefix(line, "#") {
			comments.WriteString(line)
		}
	}
	for _, m := range jsonKey.FindAllStringSubmatch(comments.String(), -1) {
		if !strings.Contains(output, m[0]) {
			t.Errorf("%v shows %s, the output is\n%s", b, m[0], output)
		}
	}
	for _, m := range label.FindAllStringSubmatch(comments.String(), -1) {
		if !strings.Contains(output, m[1]) {
			t.Errorf("%v shows %q, the output is\n%s", b, m[1], output)
		}
	}
	if strings.Contains(output, `{"message":`) && !strings.Contains(comments.String(), `{"message":`) {
		t.Errorf("%v is answered\n%s", b, output)
	}
}

// TestInlineCommands checks that commands in the text, and their flags, exist.
func TestInlineCommands(t *testing.T) {
	t.Parallel()
	exe := binary.Build(t)
	help := make(map[string]string)
	found := 0
	for _, file := range append(documents(t), "CONTRIBUTING.md", "deploy/high-availability/README.md") {
		for _, m := range regexp.MustCompile("`allswell ([^`]+)`").FindAllStringSubmatch(read(t, file), -1) {
			own, _, _ := strings.Cut(m[1], " -- ") // the rest is a command of another program
			words := strings.Fields(own)
			var command []string
			for _, word := range words {
				if len(command) == 2 || !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(word) {
					break
				}
				command = append(command, word)
			}
			name := strings.Join(command, " ")
			if _, known := help[name]; !known {
				out, err := exec.Command(exe, append(command, "--help")...).CombinedOutput()
				if err != nil {
					t.Errorf("%s: allswell %s: %v\n%s", file, m[1], err, out)
				}
				help[name] = regexp.MustCompile(`--\[no-\](\S+)`).ReplaceAllString(strings.ReplaceAll(string(out), "=",
					" "), "--$1 --no-$1")
			}
			for _, word := range words {
				flag, _, _ := strings.Cut(word, "=")
				if strings.HasPrefix(flag, "--") && flag != "--help" && !strings.Contains(help[name], flag) {
					t.Errorf("%s: allswell %s has no %s", file, name, flag)
				}
			}
			found++
		}
	}
	if found == 0 {
		t.Error("no document has a command in its text")
	}
}

// TestCrontab checks the lines of crontabs: five fields, and a command that runs.
func TestCrontab(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "curl")
	exe := binary.Build(t)
	for _, b := range blocksOf(t, "crontab") {
		fields := regexp.MustCompile(`^((?:[\d*/,-]+\s+){5})(\S.*)\n$`).FindStringSubmatch(b.text)
		if fields == nil {
			t.Fatalf("%v is not one line with five fields and a command", b)
		}
		if strings.Contains(fields[2], "%") {
			t.Errorf("%v: cron replaces %% by a line feed", b)
		}
		t.Run(filepath.Base(b.file), func(t *testing.T) {
			t.Parallel()
			runShell(t, exe, []block{
				{file: b.file + " (crontab)", line: b.line, language: "sh", text: fields[2] + "\n"},
			})
		})
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
