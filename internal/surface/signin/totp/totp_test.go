package totp

import (
	"fmt"
	"image"
	"image/color"
	"strings"
	"testing"
	"time"

	"github.com/boombuler/barcode/qr"
)

// TestVectors compares codes with the last six digits of the codes in RFC 6238, appendix B.
func TestVectors(t *testing.T) {
	const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" // "12345678901234567890"
	if !ValidSecret(secret) {
		t.Error("the secret of the vectors is refused")
	}
	for at, code := range map[int64]string{
		1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130",
	} {
		now := time.Unix(at, 0)
		for offset, want := range map[time.Duration]bool{
			0: true, 30 * time.Second: true, -30 * time.Second: true, 60 * time.Second: false,
			-60 * time.Second: false,
		} {
			step, ok := Match(secret, code, now.Add(offset))
			if ok != want || ok && step != at/30 {
				t.Errorf("code of %d at %v: step %d, %v", at, offset, step, ok)
			}
		}
		for _, wrong := range []string{"", code[:5], code + "0", "x" + code[1:], "-" + code[1:]} {
			if _, ok := Match(secret, wrong, now); ok {
				t.Errorf("%q is accepted", wrong)
			}
		}
	}
}

func TestSecrets(t *testing.T) {
	a, err := NewSecret()
	b, err2 := NewSecret()
	if err != nil || err2 != nil || a == b || !ValidSecret(a) {
		t.Errorf("secrets %q and %q, %v, %v", a, b, err, err2)
	}
	for _, bad := range []string{"", a[1:], a + "A", strings.ToLower(a), "1" + a[1:]} {
		if ValidSecret(bad) {
			t.Errorf("%q is accepted", bad)
		}
	}
	got, want := Address("SECRET", "Allswell status.example.com", "a+b@example.com"),
		"otpauth://totp/Allswell%20status.example.com:a+b@example.com?issuer=Allswell%20status.example.com&secret=SECRET"
	if got != want {
		t.Errorf("address %s, want %s", got, want)
	}
}

// TestQRCode draws the path, and compares it with the code.
func TestQRCode(t *testing.T) {
	const text = "otpauth://totp/x?secret=y"
	code, err := NewQRCode(text)
	if err != nil {
		t.Fatal(err)
	}
	want, err := qr.Encode(text, qr.M, qr.Unicode)
	if err != nil {
		t.Fatal(err)
	}
	got := image.NewGray(image.Rect(0, 0, code.Size, code.Size))
	for i := range got.Pix {
		got.Pix[i] = 0xff
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(code.Path, "M"), "M") {
		var x, y, width, back int
		if _, err := fmt.Sscanf(part, "%d %dh%dv1h-%dz", &x, &y, &width, &back); err != nil || back != width {
			t.Fatalf("part %q: %v", part, err)
		}
		for i := range width {
			got.SetGray(x+i, y, color.Gray{})
		}
	}
	for y := range code.Size {
		for x := range code.Size {
			dark := false
			if p := image.Pt(x-quietZone, y-quietZone); p.In(want.Bounds()) {
				r, _, _, _ := want.At(p.X, p.Y).RGBA()
				dark = r == 0
			}
			if dark != (got.GrayAt(x, y).Y == 0) {
				t.Fatalf("module %d, %d", x, y)
			}
		}
	}
}
