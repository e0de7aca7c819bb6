package docs

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/oasdiff/yaml"
)

const recipes = "docs/recipes.md"

// signals records the signals that a job sends. The first one is answered 503.
type signals struct {
	*httptest.Server
	mu     sync.Mutex
	paths  []string
	bodies []string
}

func newSignals(t *testing.T) *signals {
	s := &signals{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.paths, s.bodies = append(s.paths, strings.TrimPrefix(r.URL.Path, "/ping/")), append(s.bodies, string(body))
		if len(s.paths) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// programs say how the samples of a language are run. A sample calls a job that fails if the variable FAILS is set. The
// short form leaves out languages whose compilers take long.
var programs = map[string]struct {
	needs         []string
	file          string
	before, after string
	command       string // of sh; $0 is the file
	slow          bool
}{
	"python": {
		needs: []string{"python3"}, file: "job.py",
		before:  "import os\ndef backup():\n    if os.environ.get('FAILS'): raise OSError('disk full')\n",
		command: `python3 "$0"`,
	},
	"javascript": {
		needs: []string{"node"}, file: "job.mjs",
		after:   "async function backup() { if (process.env.FAILS) throw new Error('disk full'); }\n",
		command: `node "$0"`,
	},
	"go": {
		needs: []string{"go"}, file: "main.go",
		before: "package main\nimport (\"errors\"; \"net/http\"; \"os\"; \"strings\"; \"time\")\n",
		after: "func main() {\n\tif watched(func() error { if os.Getenv(\"FAILS\") != \"\" { return " +
			"errors.New(\"disk full\") }; return nil }) != nil { os.Exit(1) }\n}\n", command: `go run "$0"`,
	},
	"java": {needs: []string{"java"}, file: "Job.java", before: "public class Job {\n",
		after: "public static void main(String[] a) throws Exception { watched(() -> { if (System.getenv(\"FAILS\") " +
			"!= null) throw new RuntimeException(\"disk full\"); }); }\n}\n", command: `java "$0"`, slow: true},
	"ruby": {
		needs: []string{"ruby"}, file: "job.rb", before: "def backup; raise 'disk full' if ENV['FAILS']; end\n",
		command: `ruby "$0"`,
	},
	"php": {
		needs: []string{"php"}, file: "job.php",
		after: "function backup() { if (getenv('FAILS')) throw new Exception('disk full'); }\n", command: `php "$0"`,
	},
	"rust": {needs: []string{"rustc", "cc", "curl"}, file: "job.rs",
		after: "fn main() { if watched(|| match std::env::var(\"FAILS\") { Ok(_) => Err(\"disk full\".into()), _ " +
			"=> Ok(()) }).is_err() { std::process::exit(1) } }\n",
		command: `rustc -o "$0.out" "$0" && "$0.out"`, slow: true},
}

// TestRecipes runs the samples whose programs are installed: a job that succeeds, and one that fails, each beside a
// server that rejects the first signal.
func TestRecipes(t *testing.T) {
	t.Parallel()
	for language, p := range programs {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if p.slow && os.Getenv(storetest.Full) != "1" {
				t.Skip("skipped: only with " + storetest.Full + "=1")
			}
			for _, program := range p.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skip("skipped: ", err)
				}
			}
			for _, b := range blocksIn(t, recipes, language) {
				for _, fails := range []string{"", "FAILS=1"} {
					file, s := filepath.Join(t.TempDir(), p.file), newSignals(t)
					write(t, file, p.before+b.text+p.after, 0o644)
					cmd := exec.CommandContext(t.Context(), "sh", "-c", p.command, file)
					cmd.Env = append(os.Environ(), "ALLSWELL_MONITOR="+s.URL+"/ping", "NO_PROXY=*", "no_proxy=*", fails)
					out, err := cmd.CombinedOutput()
					want := []string{"start", "start", "success"}
					if fails != "" {
						want[2] = "fail"
					}
					if !slices.Equal(s.paths, want) || fails != "" && !strings.Contains(s.bodies[2], "disk full") ||
						(err != nil) != (fails != "") {
						t.Errorf("%v %s: signals %q with %q, %v\n%s", b, fails, s.paths, s.bodies, err, out)
					}
				}
			}
		})
	}
}

// TestRecipesForSystemd has systemd read the units, and checks the times of timers.
func TestRecipesForSystemd(t *testing.T) {
	needs(t, "systemd-analyze", "true")
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	timers := 0
	for _, b := range blocksIn(t, recipes, "ini") {
		first, _, _ := strings.Cut(b.text, "\n")
		name, isUnit := strings.CutPrefix(first, "# /etc/systemd/system/")
		if !isUnit {
			t.Fatalf("%v does not begin with the file of a unit", b)
		}
		dir := t.TempDir()
		file := filepath.Join(dir, strings.Replace(name, "@.", "@backup.", 1))
		write(t, file, regexp.MustCompile(`(?m)^(Exec\w+=-?)\S+`).ReplaceAllString(b.text, "${1}"+program), 0o644)
		write(t, filepath.Join(dir, "report-failure@.service"), "[Service]\nType=oneshot\nExecStart="+program+"\n",
			0o644)
		if strings.HasSuffix(name, ".timer") {
			write(t, filepath.Join(dir, strings.TrimSuffix(name, "timer")+"service"),
				"[Service]\nType=oneshot\nExecStart="+program+"\n", 0o644)
		}
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
			file).CombinedOutput()
		if err != nil || strings.Contains(string(out), dir) {
			t.Errorf("%v: %v\n%s", b, err, out)
		}
		for _, times := range regexp.MustCompile(`(?m)^OnCalendar=(.*)$`).FindAllStringSubmatch(b.text, -1) {
			timers++
			_, err := resource.NewMonitor(
				monitor.MonitorOf(monitor.MonitorConfig{Name: "x", Cron: schedule.NewCalendar(times[1], "")}),
				time.Now(),
			)
			if err != nil {
				t.Errorf("%v: %v", b, err)
			}
		}
	}
	if timers == 0 {
		t.Error("no timer")
	}
}

// TestRecipesInYAML checks that the files can be read, and that they use the image of Allswell that releases have.
func TestRecipesInYAML(t *testing.T) {
	for _, b := range blocksIn(t, recipes, "yaml") {
		if out, err := yaml.YAMLToJSON([]byte(b.text)); err != nil || !strings.HasPrefix(string(out), `{"`) {
			t.Errorf("%v: %s, %v", b, out, err)
		}
	}
	_, image, _ := strings.Cut(read(t, "tools/release/image.go"), "Entrypoint: []string{\"")
	program, _, _ := strings.Cut(image, `"`)
	for _, b := range blocksIn(t, recipes, "dockerfile") {
		if !strings.Contains(b.text, "COPY --from=ghcr.io/allswell/allswell "+program+" ") {
			t.Errorf("%v does not copy %s", b, program)
		}
	}
}

// TestRecipesInPowerShell has PowerShell parse the samples, if it is installed.
func TestRecipesInPowerShell(t *testing.T) {
	blocks := blocksIn(t, recipes, "powershell")
	if _, err := exec.LookPath("pwsh"); err != nil {
		t.Skip("skipped: ", err)
	}
	for _, b := range blocks {
		file := filepath.Join(t.TempDir(), "job.ps1")
		write(t, file, b.text, 0o644)
		cmd := exec.CommandContext(t.Context(), "pwsh", "-NoProfile", "-Command",
			"[scriptblock]::Create((Get-Content -Raw $env:FILE)) | Out-Null")
		cmd.Env = append(os.Environ(), "FILE="+file)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", b, err, out)
		}
	}
}

// TestMailAliases runs the commands to which Postfix passes mail.
func TestMailAliases(t *testing.T) {
	t.Parallel()
	needs(t, "curl")
	for _, b := range blocksIn(t, recipes, "aliases") {
		for line := range strings.Lines(b.text) {
			alias := regexp.MustCompile(`^[a-z-]+: "\|(/usr/bin/curl [^"]+)"\n$`).FindStringSubmatch(line)
			if alias == nil {
				t.Fatalf("%v: %q is not an alias for a command", b, line)
			}
			s := newSignals(t)
			command := regexp.MustCompile(`https://\S+/heartbeat/…`).ReplaceAllString(strings.TrimPrefix(alias[1],
				"/usr/bin/"), s.URL+"/ping")
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Stdin = strings.NewReader("Subject: backup\n\nAll is well.\n")
			out, err := cmd.CombinedOutput()
			if err != nil || len(s.paths) != 2 || !strings.HasSuffix(command, s.paths[1]) ||
				!strings.Contains(s.bodies[1], "Subject: backup\n") {
				t.Errorf("%s: signals %q with %q, %v\n%s", line, s.paths, s.bodies, err, out)
			}
		}
	}
}
