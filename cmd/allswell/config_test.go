package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/command/console"
)

// configFile writes a configuration file and returns its path.
func configFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "allswell.env")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConfigFilePrecedence checks that flags take precedence over the environment, and both over the file.
func TestConfigFilePrecedence(t *testing.T) {
	dir := t.TempDir()
	database := func(name string) string { return "sqlite:" + filepath.Join(dir, name+".db") }
	path := configFile(t, "# The server.\nALLSWELL_DATABASE='"+database("file")+"'\nALLSWELL_LISTEN=127.0.0.1:0\n",
		0o644)
	for _, c := range []struct {
		name    string
		environ map[string]string
		args    []string
		want    string
	}{
		{"the file", nil, []string{"--config", path}, "file"},
		{"the file, by a variable", map[string]string{"ALLSWELL_CONFIG": path}, nil, "file"},
		{"the environment", map[string]string{"ALLSWELL_DATABASE": database("environment")}, []string{"--config", path},
			"environment"},
		{"an empty variable", map[string]string{"ALLSWELL_DATABASE": ""}, []string{"--config", path}, "file"},
		{"a flag", map[string]string{"ALLSWELL_DATABASE": database("environment")},
			[]string{"--config", path, "--database", database("flag")}, "flag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, stdout, stderr := runIn(t, c.environ, append([]string{"migrate"}, c.args...)...)
			if status != console.ExitDone || !strings.Contains(stdout, filepath.Join(dir, c.want+".db")) ||
				stderr != "" {
				t.Errorf("status %d: %s%s", status, stdout, stderr)
			}
		})
	}
	if _, stdout, _ := runIn(t, nil, "token", "list", "--config", path); !strings.Contains(stdout, "file.db") {
		t.Errorf("token list: %s", stdout)
	}
}

// TestWrongConfigFiles checks that a bad file stops the start with one sentence that names the file and the line.
func TestWrongConfigFiles(t *testing.T) {
	for text, want := range map[string]string{
		"ALLSWELL_LISTEN=:80\nnonsense\n": ":2: expected NAME=VALUE\n",
		"ALLSWELL_LISTN=:80\n": ":1: ALLSWELL_LISTN is not a setting of the server: did " +
			"you mean ALLSWELL_LISTEN?\n",
		"\nALLSWELL_BOOTSTRAP_TOKENS=x": ":2: ALLSWELL_BOOTSTRAP_TOKENS is not a setting of the " +
			"server: did you mean ALLSWELL_BOOTSTRAP_TOKEN?\n",
		"ALLSWELL_TLS_EMAL=x": ":1: ALLSWELL_TLS_EMAL is not a setting of the server: " +
			"did you mean ALLSWELL_TLS_EMAIL?\n",
		"ALLSWELL_BOOTSTRAP=x": ":1: ALLSWELL_BOOTSTRAP is not a setting of the server: " +
			"did you mean ALLSWELL_BOOTSTRAP_TOKEN?\n",
		"ALLSWELL_TOKEN=hunter2": ":1: ALLSWELL_TOKEN is not a setting of the server\n",
		"ALLSWELL_CONFIG=x":      ":1: ALLSWELL_CONFIG is not a setting of the server\n",
		"# x\nALLSWELL_CHECK_INTERVAL=60": ":2: ALLSWELL_CHECK_INTERVAL (--check-interval) must be " +
			"a duration in whole seconds from 1s to 1h, such as 30s or 1m, not \"60\".\n",
		"ALLSWELL_SMTP_URL=https://me:hunter2@mail.example": ":1: ALLSWELL_SMTP_URL (--smtp-url) must be smtp://",
		"ALLSWELL_LOG_LEVEL=\"info":                         ":1: the quote at the beginning of the value has no end\n",
	} {
		path := configFile(t, text, 0o600)
		status, stdout, stderr := runIn(t,
			map[string]string{"ALLSWELL_DATABASE": "sqlite:" + filepath.Join(t.TempDir(), "x.db")}, "serve", "--config",
			path)
		if status != console.ExitUsage || stdout != "" || !strings.HasPrefix(stderr, "allswell: "+path+want) ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("serve with the file %q: status %d, %s%s", text, status, stdout, stderr)
		}
		if strings.Contains(stderr, "hunter2") {
			t.Errorf("%q repeats a secret", stderr)
		}
	}
	for path, reason := range map[string]string{
		filepath.Join(t.TempDir(), "missing.env"):              "no such file or directory",
		configFile(t, strings.Repeat("#\n", 512<<10+1), 0o600): "it is larger than 1 MiB",
	} {
		status, _, stderr := runIn(t, nil, "serve", "--config", path)
		want := "allswell: the configuration file " + path + " cannot be read: " + reason + "\n"
		if status != console.ExitUsage || stderr != want {
			t.Errorf("status %d, %q, want %q", status, stderr, want)
		}
	}
}

// TestConfigFileWarnings checks the warnings about a file: secrets that every user can read, and variables of others.
func TestConfigFileWarnings(t *testing.T) {
	database := "ALLSWELL_DATABASE=sqlite:" + filepath.Join(t.TempDir(), "x.db") + "\n"
	const exposed = " contains a secret (ALLSWELL_BOOTSTRAP_TOKEN) and every user can read it: run chmod o-r "
	token := "ALLSWELL_BOOTSTRAP_TOKEN=" + strings.Repeat("x", 40) + "\n"
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string // FILE is the path
	}{
		{database + token, 0o600, ""},
		{database + token, 0o640, ""},
		{database + token, 0o644, "allswell: warning: FILE" + exposed + "FILE\n"},
		{database, 0o644, ""},
		{database + "ALLSWELL_SMTP_URL=smtp://mail.example.com:587", 0o644, ""},
		{database + "ALLSWELL_SMTP_URL=smtp://me:hunter2@mail.example.com:587", 0o644,
			"allswell: warning: FILE" + strings.Replace(exposed, "BOOTSTRAP_TOKEN", "SMTP_URL", 1) + "FILE\n"},
		{database + "PGHOST_OF_NOBODY=x", 0o600,
			"allswell: warning: FILE:2: PGHOST_OF_NOBODY is ignored: it is not a setting of Allswell\n"},
	} {
		path := configFile(t, c.text, c.mode)
		status, _, stderr := runIn(t, nil, "migrate", "--config", path)
		if want := strings.ReplaceAll(c.want, "FILE", path); status != console.ExitDone || stderr != want {
			t.Errorf("%q, mode %o: status %d, %q, want %q", c.text, c.mode, status, stderr, want)
		}
	}
	t.Setenv("PGHOST_OF_NOBODY", "x") // a supervisor has read the same file
	_, _, stderr := runIn(t, nil, "migrate", "--config", configFile(t, database+"PGHOST_OF_NOBODY=x", 0o600))
	if stderr != "" {
		t.Errorf("a variable that is set: %q", stderr)
	}
}
