package secret

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSeal(t *testing.T) {
	a, err := New(strings.Repeat("a", MinLength))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := New(strings.Repeat("b", MinLength))
	sealed := a.Seal([]byte("hunter2"), "mon_1")
	if bytes.Contains(sealed, []byte("hunter2")) || bytes.Equal(sealed, a.Seal([]byte("hunter2"), "mon_1")) {
		t.Errorf("sealed: %q", sealed)
	}
	if plain, err := a.Open(sealed, "mon_1"); err != nil || string(plain) != "hunter2" {
		t.Errorf("opened %q, %v", plain, err)
	}
	var none *Keys
	for name, err := range map[string]error{
		"another key": second(b.Open(sealed, "mon_1")), "no key": second(none.Open(sealed, "mon_1")),
	} {
		if !errors.Is(err, ErrNoKey) {
			t.Errorf("Open with %s: %v, want ErrNoKey", name, err)
		}
	}
	if _, err := a.Open(sealed, "mon_2"); err == nil || errors.Is(err, ErrNoKey) {
		t.Errorf("of another monitor: %v", err)
	}
	for i := range sealed {
		broken := bytes.Clone(sealed)
		broken[i] ^= 1
		if _, err := a.Open(broken, "mon_1"); err == nil {
			t.Errorf("byte %d does not matter", i)
		}
		if _, err := a.Open(sealed[:i], "mon_1"); err == nil {
			t.Errorf("%d bytes suffice", i)
		}
	}
}

func second(_ []byte, err error) error { return err }

// TestReplacedKey checks that the first key seals, and all open.
func TestReplacedKey(t *testing.T) {
	a, b := strings.Repeat("a", MinLength), strings.Repeat("b", MinLength)
	alone, err := New(a)
	if err != nil {
		t.Fatal(err)
	}
	sealed := alone.Seal([]byte("hunter2"), "mon_1")
	for _, text := range []string{b + "\n" + a, b + ", " + a, "\n " + b + "\r\n\n" + a + "\n"} {
		both, err := New(text)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := both.Open(sealed, "mon_1")
		if err != nil || string(plain) != "hunter2" || !both.CanOpen(sealed) || both.IsCurrent(sealed) {
			t.Errorf("keys %q: Open = %q, %v", text, plain, err)
		}
		again := both.Seal([]byte("hunter2"), "mon_1")
		_, err = alone.Open(again, "mon_1")
		if !errors.Is(err, ErrNoKey) || !both.IsCurrent(again) || alone.CanOpen(again) {
			t.Errorf("%q: sealed with the earlier key: %v", text, err)
		}
	}
	for _, text := range []string{"", "\n,", a + ",short", strings.Repeat(a+"\n", MaxKeys+1)} {
		if _, err := New(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "allswell.key")
	if k, err := Read(path); k != nil || err != nil {
		t.Errorf("no file: %v, %v", k, err)
	}
	made, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the key file: %v, %v", info.Mode(), err)
	}
	read, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	sealed := made.Seal([]byte("x"), "")
	if plain, err := read.Open(sealed, ""); err != nil || string(plain) != "x" {
		t.Errorf("Open with the key that was read = %q, %v", plain, err)
	}
	before, _ := os.ReadFile(path)
	if _, err := Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("created again: %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("a second creation changed the file")
	}

	// A new key is the first, and the earlier ones stay.
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	rotated, err := Rotate(path)
	if err != nil {
		t.Fatal(err)
	}
	read, err = Read(path)
	if err != nil || !read.CanOpen(sealed) || read.IsCurrent(sealed) || !read.IsCurrent(rotated.Seal(nil, "")) {
		t.Errorf("after a rotation: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("after a rotation: %v, %v", info.Mode(), err)
	}
	for range MaxKeys - 2 {
		if _, err = Rotate(path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Rotate(path); err == nil || !strings.Contains(err.Error(), "delete the lines") {
		t.Errorf("one key too many: %v", err)
	}
	if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) != 1 {
		t.Errorf("files are left: %v, %v", names, err)
	}
}

// TestBrokenKeyFile checks that a file without a key is an error that says what to do, and is not changed.
func TestBrokenKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "allswell.key")
	for text, want := range map[string]string{
		"":                              "restore your copy of it",
		" \n":                           "restore your copy of it",
		"short":                         "at least 32 characters",
		strings.Repeat("x", 65<<10):     "longer than 64 kB",
		strings.Repeat("k", 32) + "\n7": "at least 32 characters",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]func(string) (*Keys, error){"read": Read, "rotated": Rotate} {
			_, err := f(path)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("a key file with %.5q, %s: %v", text, name, err)
			}
		}
		if after, _ := os.ReadFile(path); string(after) != text {
			t.Errorf("%.5q was changed", text)
		}
	}
}
