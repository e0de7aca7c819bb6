package secret

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxFile is the maximum size of a file with keys in bytes.
const maxFile = 64 << 10

// Read returns the keys in a file, one per line. It returns nil, and no error, if there is no file.
func Read(path string) (*Keys, error) {
	text, err := readText(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k, err := New(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// ReadableByAll reports whether there is a file that all users can read. A group that can read it may be the service's.
func ReadableByAll(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0 // modes say nothing on Windows
}

// readText returns the text of a file that is not empty.
func readText(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxFile {
		return "", fmt.Errorf("%s is longer than %d kB, so it does not have the keys of the secrets", path, maxFile>>10)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", fmt.Errorf("%s is empty, but should have the key of the secrets: restore your copy of it; "+
			"if there is none, delete the file, and enter the secrets again", path)
	}
	return string(text), nil
}

// Create writes a random key to a new file that only its owner can read, and returns it. The file appears with its
// whole content, and is durable when Create returns. If the file exists, it is not changed, and errors.Is(err,
// fs.ErrExist) is true.
func Create(path string) (*Keys, error) {
	text := random()
	beside, err := writeBeside(path, text+"\n", nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(publish(beside, path), syncFolder(path)); err != nil {
		return nil, err
	}
	return New(text)
}

// publish gives a file its name, unless there is a file of that name.
func publish(beside, path string) error {
	err := os.Link(beside, path) // unlike a rename, it replaces nothing
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if _, missing := os.Lstat(path); errors.Is(missing, fs.ErrNotExist) { // a file system without links
			return os.Rename(beside, path)
		}
	}
	return errors.Join(err, os.Remove(beside))
}

// Rotate puts a new random key before the keys in a file, and returns all of them. The file is replaced as a whole,
// keeps its owner and permissions, and is durable when Rotate returns. The caller makes sure that no one else replaces
// it meanwhile.
func Rotate(path string) (*Keys, error) {
	text, err := readText(path)
	if err != nil {
		return nil, err
	}
	old, err := New(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(old.all) == MaxKeys {
		return nil,
			fmt.Errorf("%s has %d keys already: delete the lines at its end that no backup needs any more", path,
				MaxKeys)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	text = random() + "\n" + text
	beside, err := writeBeside(path, text, info)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(beside, path); err != nil {
		return nil, errors.Join(err, os.Remove(beside))
	}
	if err := syncFolder(path); err != nil {
		return nil, err
	}
	return New(text)
}

// random returns the text of a new key.
func random() string { return rand.Text() + rand.Text() }

// writeBeside writes a file in the folder of path durably, and returns its path. It has the owner and permissions of
// like; nil: only this process's user can read it.
func writeBeside(path, text string, like fs.FileInfo) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // readable by its owner only
	if err != nil {
		return "", err
	}
	if like != nil {
		err = keepOwner(f, like)
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// syncFolder makes the names in the folder of a file durable.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // folders cannot be synced there
		return nil
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
