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
	"slices"
	"strings"
)

// Limits of keys.
const (
	MinLength = 32 // bytes of the text from which a key is made, which should come from a generator
	MaxKeys   = 10
)

// ErrNoKey means that a sealed text cannot be opened: there is no key, or a different one.
var ErrNoKey = errors.New("the key of the secrets is missing, or another one")

// ErrDamaged means that a sealed text was changed, or belongs to another owner.
var ErrDamaged = errors.New("a sealed secret is damaged, or belongs to another owner")

// Keys are the keys of an installation: the first seals, and all open, so that a key can be replaced. The methods are
// safe for concurrent use. A nil *Keys has no key.
type Keys struct{ all []key }

type key struct {
	id   [keyIDLength]byte
	aead cipher.AEAD
}

// A sealed text begins with a head, which is the format and the id of the key, and the nonce.
const (
	format      = 1
	keyIDLength = 8

	HeadLength = 1 + keyIDLength // bytes
)

// New returns the keys that are made of a text: one per line or between commas, each of at least MinLength bytes.
// Empty lines and spaces around a key are ignored.
func New(text string) (*Keys, error) {
	texts := slices.DeleteFunc(strings.FieldsFunc(text, func(r rune) bool {
		return r == '\n' || r == ','
	}), func(s string) bool { return strings.TrimSpace(s) == "" })
	if len(texts) == 0 || len(texts) > MaxKeys {
		return nil, fmt.Errorf("there must be from 1 to %d keys of the secrets", MaxKeys)
	}
	k := new(Keys)
	for _, one := range texts {
		one, err := newKey(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		k.all = append(k.all, one)
	}
	return k, nil
}

func newKey(text string) (k key, err error) {
	if len(text) < MinLength {
		return k, fmt.Errorf("a key of the secrets must have at least %d characters", MinLength)
	}
	hash := sha256.Sum256([]byte("allswell secrets: key\n" + text))
	block, err := aes.NewCipher(hash[:])
	if err != nil {
		return k, err
	}
	if k.aead, err = cipher.NewGCM(block); err != nil {
		return k, err
	}
	id := sha256.Sum256([]byte("allswell secrets: id\n" + text))
	copy(k.id[:], id[:])
	return k, nil
}

// Seal returns plain encrypted with the first key. It can be opened only with the same key and the same context, such
// as the id of its owner.
func (k *Keys) Seal(plain []byte, context string) []byte {
	first := k.all[0]
	nonce := make([]byte, first.aead.NonceSize())
	rand.Read(nonce)
	out := append([]byte{format}, first.id[:]...)
	out = append(out, nonce...)
	return first.aead.Seal(out, nonce, plain, []byte(context))
}

// Open returns the plain text of a sealed text. The error is ErrNoKey if it was sealed with none of the keys, and
// otherwise ErrDamaged.
func (k *Keys) Open(sealed []byte, context string) ([]byte, error) {
	i := k.sealedWith(sealed)
	if i < 0 {
		return nil, ErrNoKey
	}
	aead, rest := k.all[i].aead, sealed[HeadLength:]
	if len(rest) < aead.NonceSize() {
		return nil, ErrDamaged
	}
	nonce, text := rest[:aead.NonceSize()], rest[aead.NonceSize():]
	plain, err := aead.Open(nil, nonce, text, []byte(context))
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}

// CanOpen reports whether a sealed text, or its head, names one of the keys.
func (k *Keys) CanOpen(sealed []byte) bool { return k.sealedWith(sealed) >= 0 }

// IsCurrent reports whether a sealed text, or its head, names the first key.
func (k *Keys) IsCurrent(sealed []byte) bool { return k.sealedWith(sealed) == 0 }

// sealedWith returns the index of the key that a sealed text names; -1: it names none.
func (k *Keys) sealedWith(sealed []byte) int {
	if k == nil || len(sealed) < HeadLength || sealed[0] != format {
		return -1
	}
	return slices.IndexFunc(k.all, func(one key) bool { return bytes.Equal(sealed[1:HeadLength], one.id[:]) })
}
