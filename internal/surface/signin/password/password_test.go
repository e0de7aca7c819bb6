package password_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

var somebody = password.Stranger(fair.User("u"))

func TestPasswordMatchesItsHashOnly(t *testing.T) {
	ctx := t.Context()
	hash, err := password.Hash(ctx, somebody, "a long enough sentence")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash %q", hash)
	}
	for _, c := range []struct {
		hash, password string
		want           bool
	}{
		{hash, "a long enough sentence", true},
		{hash, "a long enough sentencf", false},
		{hash, "", false},
		{hash, strings.Repeat("x", 1<<20), false},
		{"", "a long enough sentence", false},
		{"", "", false},
	} {
		if got, err := password.Matches(ctx, somebody, c.hash, c.password); got != c.want || err != nil {
			t.Errorf("Matches(%.20q, %.20q) = %t, %v, want %t", c.hash, c.password, got, err, c.want)
		}
	}
	longest := strings.Repeat("word", password.MaxLength/4)
	if hash, err = password.Hash(ctx, somebody, longest); err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]bool{
		longest: true, longest + "x": false, longest + longest: false, longest[1:]: false,
	} {
		if got, err := password.Matches(ctx, somebody, hash, typed); got != want || err != nil {
			t.Errorf("%d bytes for a password of %d: %t, %v", len(typed), len(longest), got, err)
		}
	}
	if _, err := password.Matches(ctx, somebody, "$argon2id$nonsense", "x"); err == nil {
		t.Error("a damaged hash is no error")
	}
	if again, err := password.Hash(ctx, somebody, "a long enough sentence"); err != nil || again == hash {
		t.Error("two hashes of a password are the same: there is no salt")
	}
}

// TestOnlyTestsWeakenHashes reads the source of the whole program. Packages whose names end in "test" are for tests:
// the import table of test/repository lets nothing else use them.
func TestOnlyTestsWeakenHashes(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../../../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		source, err := os.ReadFile(path)
		forTests := strings.HasSuffix(filepath.Dir(path), "test")
		if strings.Contains(string(source), "password.Weaken") && !forTests {
			t.Errorf("%s weakens hashes", path)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestHashingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := password.Hash(ctx, somebody, "a long enough sentence"); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

// TestLengthOfPasswords chooses passwords as short and as long as allowed, and beyond. The shortest counts characters,
// in any script, and the longest bytes.
func TestLengthOfPasswords(t *testing.T) {
	for name, c := range map[string]struct {
		password string
		refused  bool
	}{
		"11 characters":               {"kLx8-2mQz.p", true},
		"12 characters":               {"kLx8-2mQz.p0", false},
		"11 characters in 22 bytes":   {"абвгдеёжзий", true},
		"12 characters in 24 bytes":   {"абвгдеёжзийк", false},
		"512 bytes":                   {longPassword(password.MaxLength), false},
		"513 bytes":                   {longPassword(password.MaxLength + 1), true},
		"258 characters in 513 bytes": {strings.Repeat("абвгдеёж", 32)[2:] + "abc", true},
		"257 characters in 512 bytes": {strings.Repeat("абвгдеёж", 32)[2:] + "ab", false},
	} {
		if err := password.Check(c.password); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// longPassword returns a password of n bytes that does not repeat anything.
func longPassword(n int) string {
	var long strings.Builder
	for long.Len() < n {
		fmt.Fprintf(&long, "%d and ", long.Len())
	}
	return long.String()[:n]
}

func TestWeakPasswords(t *testing.T) {
	for _, weak := range []string{
		"", "short", "elevenchars", "password1234", "Password2026!", "passwordpassword", "aaaaaaaaaaaaaaa",
		"abababababab",
		"123456123456", "123456789123", "qwerty123456", "......monkey", "allswell2026!!", "ada.lovelace1",
		"adaadaada@example", strings.Repeat("ab c", 129),
	} {
		if password.Check(weak, "Ada Lovelace", "ada@example.com") == nil {
			t.Errorf("%.30q is accepted", weak)
		}
	}
	for _, strong := range []string{
		"four words at random", "kLx8-2mQz.p0aW", "ein langer Satz mit Ümläuten", "ثلاث كلمات عشوائية",
		"ada likes quiet mornings",
	} {
		if err := password.Check(strong, "Ada Lovelace", "ada@example.com"); err != nil {
			t.Errorf("%q is refused: %v", strong, err)
		}
	}
}
