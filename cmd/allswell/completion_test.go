package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/command/cli"
	"github.com/allswell/allswell/internal/command/completion"
	"github.com/allswell/allswell/internal/command/console"
)

// TestMain runs the program instead of the tests if it is called by the script of a shell.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "allswell" {
		main()
	}
	os.Exit(m.Run())
}

// candidates are the words that complete command lines. The last word of each is completed.
var candidates = map[string]string{
	"pa":          "page",
	"component ":  "list show create put status edit delete",
	"component s": "show status",
	"component set API ": "operational degraded degraded_performance partial_outage " +
		"major_outage maintenance unknown",
	"component status API major":       "major_outage",
	"component status ":                "",
	"component status API degraded ":   "",
	"component --page acme status x d": "degraded degraded_performance",
	"incident list --": "--page --open --resolved --drafts --limit --server --token --json " +
		"--wide --help",
	"incident list --open --o":             "",
	"incident update x y --state i":        "investigating identified",
	"incident update x y --state=i":        "--state=investigating --state=identified",
	"incident update --state x y --i":      "--impact",
	"incident create --component=API=":     "",
	"incident create --component a --comp": "--component",
	"incident edit --re":                   "--resolved",
	"incident edit --no":                   "--no-resolved --no-notify",
	"monitor edit x --dis":                 "--disabled",
	"delivery list --state ":               "pending sending sent superseded cancelled expired dead",
	"page create --visibility ":            "public unlisted private",
	"page edit --auto-incidents ":          "publish draft off",
	"monitor edit x --auto-incidents=": "--auto-incidents=publish --auto-incidents=draft " +
		"--auto-incidents=off --auto-incidents=page",
	"page edit --language ":         "en de ar",
	"monitor list --state ":         "up down late unknown waiting disabled",
	"token create --scope ":         "read write admin",
	"serve --tls ":                  "off auto",
	"serve --redirect-listen ":      "off",
	"serve --log-format ":           "text json",
	"completion ":                   "bash zsh fish powershell",
	"backup ":                       "",
	"nonsense ":                     "serve demo",
	"page show -- --":               "",
	"serve --listen ":               "",
	"page set --slug x --json --he": "--help",
	"complete":                      "",
	"job":                           "",
}

// TestCandidates compares the words that complete command lines.
func TestCandidates(t *testing.T) {
	parser, err := program().Parser(&console.Console{})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range candidates {
		words := strings.Split(line, " ")
		last := len(words) - 1
		var got []string
		for _, c := range completion.Candidates(parser.Model, cli.CompletionValues(), words[:last], words[last]) {
			got = append(got, c.Word)
			if strings.ContainsAny(c.Help, "\n\t") {
				t.Errorf("%s: the help of %s is %q", line, c.Word, c.Help)
			}
		}
		if line == "nonsense " {
			got = got[:min(len(got), 2)]
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("candidates of %q: %q, want %q", line, got, want)
		}
	}
}

// shells are scripts that complete the words of $LINE with the script in $SCRIPT, and print the candidates.
var shells = map[string]struct {
	args []string
	run  string
}{
	"bash": {[]string{"--norc", "-e"}, `
source "$SCRIPT"
complete -p allswell >/dev/null
COMP_LINE=$LINE
COMP_POINT=${#LINE}
# Split like readline, which breaks words at = too.
read -r -a COMP_WORDS <<<"${LINE//=/ = }"
[[ $LINE == *[\ =] ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_allswell
printf '%s\n' "${COMPREPLY[@]}"
`},
	"zsh": {[]string{"-f", "-e"}, `
autoload -Uz compinit
compinit -u -D
source "$SCRIPT"
[[ $_comps[allswell] == _allswell ]]
compadd() { while [[ $1 != -a ]]; do shift; done; print -rl -- "${(@P)2}" }
_files() { :; }
words=("${(@s: :)LINE}")
CURRENT=${#words}
_allswell
`},
	"fish": {[]string{"--no-config"}, `
source $SCRIPT
complete -C "$LINE" | string replace -r '\t.*' ''
true
`},
}

// TestShells completes command lines in the shells that are installed. With ALLSWELL_TEST_REQUIRE_SHELLS=1 all of them
// must be.
func TestShells(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(bin, "allswell")); err != nil {
		t.Skip(err)
	}
	for shell, s := range shells {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(shell)
			if err != nil && os.Getenv("ALLSWELL_TEST_REQUIRE_SHELLS") == "1" {
				t.Fatal(err)
			}
			if err != nil {
				t.Skip("skipped: ", err)
			}
			cmd := exec.Command(filepath.Join(bin, "allswell"), "completion", shell)
			script, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(file, script, 0o600); err != nil {
				t.Fatal(err)
			}
			for line, want := range map[string]string{
				"allswell incide":                          "incident",
				"allswell component status API major":      "major_outage",
				"allswell incident update x y --state=inv": "--state=investigating",
			} {
				if shell == "bash" && strings.Contains(line, "=") {
					want = want[strings.Index(want, "=")+1:] // readline replaces what is after the equals sign
				}
				cmd := exec.Command(path, append(s.args, "-c", s.run)...)
				cmd.Env = []string{
					"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SCRIPT=" + file, "LINE=" + line,
					"TERM=dumb", "LC_ALL=C.UTF-8",
				}
				out, err := cmd.CombinedOutput()
				if got := strings.Fields(string(out)); err != nil || !slices.Equal(got, strings.Fields(want)) {
					t.Errorf("completion of %q by the shell: %q, %v; want %q", line, out, err, want)
				}
			}
		})
	}
}
