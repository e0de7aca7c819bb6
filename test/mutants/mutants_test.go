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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
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

// mutant is one fault: a few lines of a file and what takes their place.
type mutant struct {
	name     string   // of the file that describes it, without its suffix
	what     string   // what it breaks, in one sentence
	file     string   // the file to change, from the root of the repository
	test     []string // arguments of go test
	old, new string   // whole lines
}

// parse reads a fault: a header with the lines "What: …", "File: …" and
// "Test: …", then the lines to replace and their replacement.
func parse(name string, text []byte) (mutant, error) {
	m := mutant{name: name}
	archive := txtar.Parse(text)
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "What":
			m.what = value
		case "File":
			m.file = value
		case "Test":
			m.test = strings.Fields(value)
		default:
			return m, fmt.Errorf("unknown header %q", key)
		}
	}
	if m.what == "" || m.file == "" || len(m.test) == 0 {
		return m, errors.New("the header needs What, File and Test")
	}
	if f := archive.Files; len(f) != 2 || f[0].Name != "old" || f[1].Name != "new" {
		return m, errors.New("the header needs to be followed by -- old -- and -- new --")
	}
	m.old, m.new = string(archive.Files[0].Data), string(archive.Files[1].Data)
	if strings.TrimSpace(m.old) == "" || m.old == m.new {
		return m, errors.New("the old lines are empty or the same as the new ones")
	}
	return m, nil
}

// mutate returns the text of the file with the fault in it. The old lines have
// to be there exactly once.
func (m mutant) mutate(text string) (string, error) {
	text = "\n" + text
	if n := strings.Count(text, "\n"+m.old); n != 1 {
		return "", fmt.Errorf("%s has the old lines %d times, not once", m.file, n)
	}
	return strings.Replace(text, "\n"+m.old, "\n"+m.new, 1)[1:], nil
}

func loadAll(t *testing.T) (all []mutant) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("faults", "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no faults: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := parse(strings.TrimSuffix(filepath.Base(path), ".txt"), text)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, m)
	}
	return all
}

// TestFaultsCanBePlanted checks that the old lines of every fault occur exactly once in
// its file, and that its pattern matches a test in each folder, or below it with "/...". It plants nothing.
func TestFaultsCanBePlanted(t *testing.T) {
	root := repository(t)
	for _, m := range loadAll(t) {
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err == nil {
			_, err = m.mutate(string(text))
		}
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if err := m.findTests(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// findTests returns an error if the pattern of -run matches no test in a folder, or below one with "/...".
func (m mutant) findTests(root string) error {
	folders, pattern := m.test, ""
	if i := slices.Index(m.test, "-run"); i >= 0 {
		folders = m.test[:i]
		if i+1 < len(m.test) {
			pattern, _, _ = strings.Cut(m.test[i+1], "/") // without subtests
		}
	}
	run, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		names, err := testsOf(filepath.Join(root, folder))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(names, run.MatchString) {
			return fmt.Errorf("no test in %s matches %q", folder, pattern)
		}
	}
	return nil
}

// testNames are the results of testsOf.
var testNames = make(map[string][]string)

// testsOf returns the names of the tests in a folder, or below it with "/...".
func testsOf(folder string) (names []string, err error) {
	if names := testNames[folder]; names != nil {
		return names, nil
	}
	top, below := strings.CutSuffix(folder, "/...")
	err = filepath.WalkDir(top, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != top && !below:
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(file)
		for _, f := range testFunction.FindAllSubmatch(source, -1) {
			names = append(names, string(f[1]))
		}
		return err
	})
	testNames[folder] = names
	return names, err
}

// TestMutants plants the faults that ALLSWELL_MUTANTS names, each in a copy of
// the source, and fails if more than maxMissed of a hundred go unnoticed.
func TestMutants(t *testing.T) {
	chosen := os.Getenv("ALLSWELL_MUTANTS")
	if chosen == "" {
		t.Skip("ALLSWELL_MUTANTS is not set: no fault is planted")
	}
	if chosen == "check" {
		t.Skip("ALLSWELL_MUTANTS=check plants no fault")
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

// plant writes one fault into a copy of the source, runs its tests and takes the
// fault out again. A fault is found if the tests fail; it has to compile.
func plant(ctx context.Context, dir string, m mutant) (result string, found bool) {
	path := filepath.Join(dir, m.file)
	original, err := os.ReadFile(path)
	if err != nil {
		return "stale: " + err.Error(), false
	}
	mutated, err := m.mutate(string(original))
	if err != nil {
		return "stale: " + err.Error(), false
	}
	if err := os.WriteFile(path, []byte(mutated), 0o644); err != nil {
		return err.Error(), false
	}
	defer os.WriteFile(path, original, 0o644)
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

// copySource copies everything but hidden folders, such as git's.
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
