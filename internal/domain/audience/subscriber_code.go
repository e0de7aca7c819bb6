package audience

import (
	"crypto/rand"
	"crypto/subtle"
	"strings"
	"time"
)

// Limits of the codes that confirm subscriptions by some channels.
const (
	CodeLifetime    = DeliveryLifetime // a message that arrives late has a valid code
	MaxCodeAttempts = 10               // wrong codes, after which a new one has to be requested
)

// codeAlphabet omits 0, O, 1 and I, which are easily confused, and all vowels, so that no code is a word.
const codeAlphabet = "BCDFGHJKLMNPQRSTVWXZ23456789"

const codeLength = 8 // of 28 characters: the chance to guess one with MaxCodeAttempts is 1 in 38 billion

// newCode returns a random code.
func newCode() string {
	const whole = 256 / len(codeAlphabet) * len(codeAlphabet) // so that all characters are equally likely
	code, one := make([]byte, 0, codeLength), make([]byte, 1)
	for len(code) < codeLength {
		rand.Read(one)
		if int(one[0]) < whole {
			code = append(code, codeAlphabet[int(one[0])%len(codeAlphabet)])
		}
	}
	return string(code)
}

// RequestCode gives the subscription a new code, which replaces an earlier one.
func (s *Subscriber) RequestCode(now time.Time) {
	lifetime := CodeLifetime
	if s.AddedByOperator {
		lifetime = UnconfirmedLifetime // only visitors can request another code
	}
	s.Code, s.CodeUntil, s.CodeAttempts = newCode(), now.Add(lifetime), 0
}

// ShownCode returns the code as messages show it: in two halves.
func (s Subscriber) ShownCode() string {
	if len(s.Code) != codeLength {
		return s.Code
	}
	return s.Code[:codeLength/2] + "-" + s.Code[codeLength/2:]
}

// TryCode reports whether a code that somebody typed is the subscription's code. It counts wrong codes, and accepts
// none after MaxCodeAttempts wrong ones or from CodeUntil on. The code stays valid after a confirmation, so that a form
// can be sent twice.
func (s *Subscriber) TryCode(typed string, now time.Time) bool {
	if s.Code == "" || !now.Before(s.CodeUntil) || s.CodeAttempts >= MaxCodeAttempts {
		return false
	}
	typed = strings.ToUpper(strings.Join(strings.FieldsFunc(typed, func(r rune) bool {
		return r == ' ' || r == '-' || r == '\t'
	}), ""))
	if subtle.ConstantTimeCompare([]byte(typed), []byte(s.Code)) == 1 {
		return true
	}
	s.CodeAttempts++
	return false
}
