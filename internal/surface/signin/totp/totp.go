// Package totp creates and checks the codes of authenticator apps (RFC 6238): six digits, SHA-1, and a new code every
// 30 seconds, which all apps support.
package totp

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
)

const (
	step = 30 // seconds
	// drift is the number of steps before and after the current one whose codes are accepted.
	drift = 1
	// secretLength is the number of characters of a secret of 160 bits.
	secretLength = 32
)

// NewSecret returns a new random secret in base32.
func NewSecret() (string, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "x", AccountName: "x"})
	if err != nil {
		return "", err
	}
	return key.Secret(), nil
}

// ValidSecret reports whether NewSecret could have returned secret.
func ValidSecret(secret string) bool {
	return len(secret) == secretLength && strings.Trim(secret, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// Match returns the time step of a code, which may be up to drift steps away from the time at. ok is false if the code
// is wrong.
func Match(secret, typed string, at time.Time) (matched int64, ok bool) {
	now := at.Unix() / step
	for s := now - drift; s <= now+drift; s++ {
		right, err := hotp.ValidateCustom(typed, uint64(s), secret, hotp.ValidateOpts{Digits: 6})
		if err == nil && right {
			matched, ok = s, true
		}
	}
	return matched, ok
}

// Address returns the otpauth URL that an authenticator app reads from a QR code.
func Address(secret, issuer, account string) string {
	label := url.PathEscape(issuer) + ":" + url.PathEscape(account)
	return "otpauth://totp/" + label + "?" + strings.ReplaceAll(url.Values{
		"secret": {secret}, "issuer": {issuer},
	}.Encode(), "+", "%20")
}

// QRCode is a QR code as the path of an SVG image.
type QRCode struct {
	Size int    // width and height in modules, with the quiet zone
	Path string // of the dark modules
}

// quietZone is the number of light modules around a QR code.
const quietZone = 4

// NewQRCode returns the QR code of a text.
func NewQRCode(text string) (QRCode, error) {
	code, err := qr.Encode(text, qr.M, qr.Unicode)
	if err != nil {
		return QRCode{}, err
	}
	var path strings.Builder
	size := code.Bounds().Dx()
	dark := func(x, y int) bool {
		if x >= size {
			return false
		}
		r, _, _, _ := code.At(x, y).RGBA()
		return r < math.MaxUint16/2
	}
	for y := range size {
		for x := 0; x < size; x++ {
			from := x
			for dark(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from+quietZone, y+quietZone, x-from, x-from)
			}
		}
	}
	return QRCode{size + 2*quietZone, path.String()}, nil
}
