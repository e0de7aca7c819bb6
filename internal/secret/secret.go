// Package secret seals texts with a key, such as the passwords of checks, so that a copy of the database alone does not
// reveal them.
package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// MinLength is the minimum length of the text from which a key is made. It should have been made by a generator.
const MinLength = 32

// ErrNoKey means that what was sealed cannot be opened: there is no key, or another one.
var ErrNoKey = errors.New("the key of the secrets is missing, or another one")

// Key is a key. It is safe for concurrent use.
type Key struct {
	id   [keyIDLength]byte
	aead cipher.AEAD
}

// What is sealed begins with the format, the id of the key and the nonce.
const (
	format      = 1
	keyIDLength = 8
	headLength  = 1 + keyIDLength
)

// New returns the key that is made of a text of at least MinLength characters. Spaces around it are ignored.
func New(text string) (*Key, error) {
	text = strings.TrimSpace(text)
	if len(text) < MinLength {
		return nil, fmt.Errorf("the key of the secrets must have at least %d characters", MinLength)
	}
	key := sha256.Sum256([]byte("allswell secrets: key\n" + text))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	k := &Key{aead: aead}
	id := sha256.Sum256([]byte("allswell secrets: id\n" + text))
	copy(k.id[:], id[:])
	return k, nil
}

// Read returns the key in a file, and nil if there is no file.
func Read(path string) (*Key, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k, err := New(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// Create writes a random key to a new file that only its owner can read, and returns it. When it returns, the file is durable.
// It does not overwrite a file.
func Create(path string) (*Key, error) {
	text := rand.Text() + rand.Text()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return New(text)
}

// Seal returns plain encrypted. It can be opened only with the same key and the same context, such as the id of its owner.
func (k *Key) Seal(plain []byte, context string) []byte {
	nonce := make([]byte, k.aead.NonceSize())
	rand.Read(nonce)
	out := append([]byte{format}, k.id[:]...)
	out = append(out, nonce...)
	return k.aead.Seal(out, nonce, plain, []byte(context))
}

// Open returns what was sealed. The error is ErrNoKey if k is nil, or not the key with which it was sealed.
func (k *Key) Open(sealed []byte, context string) ([]byte, error) {
	if k == nil || !k.Sealed(sealed) {
		return nil, ErrNoKey
	}
	rest := sealed[headLength:]
	if len(rest) < k.aead.NonceSize() {
		return nil, errors.New("a sealed secret is damaged")
	}
	nonce, text := rest[:k.aead.NonceSize()], rest[k.aead.NonceSize():]
	plain, err := k.aead.Open(nil, nonce, text, []byte(context))
	if err != nil {
		return nil, errors.New("a sealed secret is damaged, or belongs to another owner")
	}
	return plain, nil
}

// Sealed reports whether a sealed text names this key.
func (k *Key) Sealed(sealed []byte) bool {
	return len(sealed) >= headLength && sealed[0] == format && bytes.Equal(sealed[1:headLength], k.id[:])
}
