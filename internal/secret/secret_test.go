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
	var none *Key
	for name, err := range map[string]error{"another key": second(b.Open(sealed, "mon_1")), "no key": second(none.Open(sealed, "mon_1"))} {
		if !errors.Is(err, ErrNoKey) {
			t.Errorf("%s: %v", name, err)
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
		t.Errorf("%v, %v", info.Mode(), err)
	}
	read, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := read.Open(made.Seal([]byte("x"), ""), ""); err != nil || string(plain) != "x" {
		t.Errorf("%q, %v", plain, err)
	}
	if _, err := Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("created again: %v", err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("a short key was read")
	}
}
