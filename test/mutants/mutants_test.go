package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// workers is how many copies are tested at a time.
	workers = 2

	// testTimeout bounds the tests of one fault. Tests that hang are not tests
	// that fail, so a fault that ends like this is not found.
	testTimeout = 8 * time.Minute

	// maxMissed is how many of a hundred faults may go unnoticed.
	maxMissed = 5
)

// mutant is one fault.
type mutant struct {
	name string   // of the file, without its suffix
	what string   // what it breaks, in one sentence
	test []string // arguments of go test
	path string   // of the patch
}

// load reads the header of a patch: "What: …" and "Test: …", each one line.
func load(path string) (mutant, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return mutant{}, err
	}
	m := mutant{name: strings.TrimSuffix(filepath.Base(path), ".patch"), path: path}
	header, diff, ok := strings.Cut(string(text), "\n\n")
	if !ok || !strings.HasPrefix(diff, "--- a/") {
		return m, errors.New("no header, blank line and unified diff")
	}
	for line := range strings.Lines(header) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "What":
			m.what = value
		case "Test":
			m.test = strings.Fields(value)
		default:
			return m, fmt.Errorf("unknown header %q", key)
		}
	}
	if m.what == "" || len(m.test) == 0 {
		return m, errors.New("the header needs What and Test")
	}
	return m, nil
}

func loadAll(t *testing.T) (all []mutant) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("patches", "*.patch"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no patches: %v", err)
	}
	for _, path := range paths {
		m, err := load(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if m.path, err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// TestPatchesAreRead reads every header. Whether a patch still applies is a
// question for TestMutants.
func TestPatchesAreRead(t *testing.T) {
	root := repository(t)
	for _, m := range loadAll(t) {
		if _, err := os.Stat(filepath.Join(root, m.test[0])); err != nil {
			t.Errorf("%s: tests of %s: %v", m.name, m.test[0], err)
		}
	}
}

// TestMutants plants the faults that ALLSWELL_MUTANTS names, each in a copy of
// the source, and fails if more than maxMissed of a hundred go unnoticed.
func TestMutants(t *testing.T) {
	chosen := os.Getenv("ALLSWELL_MUTANTS")
	if chosen == "" {
		t.Skip("ALLSWELL_MUTANTS is not set: no fault is planted")
	}
	if chosen == "all" {
		chosen = "."
	}
	pattern, err := regexp.Compile(chosen)
	if err != nil {
		t.Fatalf("ALLSWELL_MUTANTS: %v", err)
	}
	var planted []mutant
	for _, m := range loadAll(t) {
		if pattern.MatchString(m.name) {
			planted = append(planted, m)
		}
	}
	root := repository(t)
	queue := make(chan mutant)
	var mu sync.Mutex
	var missed []string
	var wg sync.WaitGroup
	for range workers {
		copied := t.TempDir()
		copySource(t, root, copied)
		wg.Go(func() {
			for m := range queue {
				result, found := plant(t.Context(), copied, m)
				mu.Lock()
				t.Logf("%-8s %s: %s", result, m.name, m.what)
				if !found {
					missed = append(missed, fmt.Sprintf("%s (%s): %s", m.name, result, m.what))
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range planted {
		queue <- m
	}
	close(queue)
	wg.Wait()
	t.Logf("%d of %d faults were found", len(planted)-len(missed), len(planted))
	for _, m := range missed {
		t.Log("not found: ", m)
	}
	if len(planted) == 0 || len(missed)*100 > len(planted)*maxMissed {
		t.Errorf("%d of %d faults went unnoticed, more than %d of a hundred", len(missed), len(planted), maxMissed)
	}
}

// plant applies one fault to a copy, runs its tests and takes the fault back.
// A fault is found if the tests fail; it has to compile.
func plant(ctx context.Context, dir string, m mutant) (result string, found bool) {
	if out, err := run(ctx, dir, "git", "apply", m.path); err != nil {
		return "stale: the patch does not apply: " + lastLine(out), false
	}
	defer run(context.WithoutCancel(ctx), dir, "git", "apply", "-R", m.path)
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	out, err := run(ctx, dir, "go", append([]string{"test", "-count=1"}, m.test...)...)
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil, strings.Contains(out, "panic: test timed out"):
		return "hangs", false
	case err == nil:
		return "missed", false
	case !errors.As(err, &failed) || !strings.Contains(out, "FAIL"):
		return "invalid: " + lastLine(out), false
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		return "invalid: it does not compile", false
	}
	return "found", true
}

// run runs a command in dir, with everything it wrote.
func run(ctx context.Context, dir, name string, args ...string) (out string, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 10 * time.Second // tests start programs of their own
	var buf bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buf, &buf
	err = cmd.Run()
	return buf.String(), err
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// copySource copies everything but hidden folders, such as that of git.
func copySource(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch target := filepath.Join(to, relative); {
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && relative != ".":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(target, content, 0o644)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
