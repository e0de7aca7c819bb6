// Package password hashes and verifies the passwords of users, and refuses weak ones.
package password

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/go-crypt/crypt/algorithm/argon2"
)

const (
	// MinLength and MaxLength are the limits of a password, in characters and in bytes.
	MinLength = 12
	MaxLength = 512
)

// memory, in KiB, and passes of argon2id, as OWASP recommends. A hash takes about 50 ms of processor time.
var memory, passes = 19 << 10, 2

// Weaken makes hashes cheap and weak in this process. Only tests, which hash often, may call it, when they are
// initialized. TestOnlyTestsWeakenHashes finds other callers.
func Weaken() { memory, passes = 8, 1 }

// Hash returns the argon2id hash of a password in PHC format. The error is ErrBusy if too many passwords are being
// hashed.
func Hash(ctx context.Context, asker Asker, password string) (string, error) {
	end, err := hashes.begin(ctx, asker)
	if err != nil {
		return "", err
	}
	defer end()
	hasher, err := argon2.New(argon2.WithVariantID(), argon2.WithMemoryInKiB(uint32(memory)),
		argon2.WithIterations(passes), argon2.WithParallelism(1))
	if err != nil {
		return "", err
	}
	digest, err := hasher.Hash(password)
	if err != nil {
		return "", err
	}
	return digest.Encode(), nil
}

// decoy returns a hash that no password has. It is compared where there is no hash, so that an unknown user takes as
// long as a wrong password.
func decoy() string {
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=1$bm8gcGFzc3dvcmQgaGVyZQ$Jx0u3r3cQp1Yy8N4m0s8o2fUu5Yw1m0b4o0Q0p9Xl0c", memory, passes)
}

// Matches reports whether password has the hash. For the hash "" it takes as long, and returns false. The error is
// ErrBusy if too many passwords are being checked.
func Matches(ctx context.Context, asker Asker, hash, password string) (bool, error) {
	end, err := hashes.begin(ctx, asker)
	if err != nil {
		return false, err
	}
	defer end()
	known := hash != ""
	if !known {
		hash = decoy()
	}
	digest, err := argon2.Decode(hash)
	if err != nil {
		return false, fmt.Errorf("decoding a password hash: %w", err)
	}
	if len(password) > MaxLength {
		password = password[:MaxLength+1] // matches no hash
	}
	return digest.Match(password) && known, nil
}

// Check returns a *kernel.ValidationError for the field "password" if a new password is too short, too long, common,
// or made of the words in about, such as the user's name and address.
func Check(password string, about ...string) error {
	var bad kernel.ValidationError
	switch {
	case utf8.RuneCountInString(password) < MinLength:
		bad.Add("password", "must have at least %d characters", MinLength)
	case len(password) > MaxLength:
		bad.Add("password", "may not have more than %d bytes", MaxLength)
	case isCommon(password):
		bad.Add("password",
			"This password is one of the most common ones. Choose another, such as four words at random.")
	case isAbout(password, about):
		bad.Add("password", "must not consist of your name or address")
	}
	return bad.Err()
}

// isAbout reports whether little of a password remains without the words in about.
func isAbout(password string, about []string) bool {
	rest := strings.ToLower(password)
	for _, text := range about {
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return strings.ContainsRune(" @.-_+", r)
		}) {
			if len(word) > 2 {
				rest = strings.ReplaceAll(rest, word, "")
			}
		}
	}
	return utf8.RuneCountInString(rest) < MinLength/2 && rest != strings.ToLower(password)
}
