package notify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// verifiesBySpecification reports whether a v1 signature is valid by the Standard Webhooks
// specification: HMAC-SHA256 over id.timestamp.body.
func verifiesBySpecification(t *testing.T, secret string, header http.Header, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(header.Get("webhook-id") + "." + header.Get("webhook-timestamp") + "."))
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return slices.Contains(strings.Split(header.Get("webhook-signature"), " "), want)
}

// webhookSigned is a signed request, the secrets that verify it, and others.
type webhookSigned struct {
	Seen        receivedRequest
	Good, Wrong []string
}

func webhookSignedRequests(t *testing.T) (signed []webhookSigned) {
	address, seen := webhookSink(t)
	now := time.Now()
	fresh, old, other := audience.NewWebhookSecret(), audience.NewWebhookSecret(), audience.NewWebhookSecret()
	for _, n := range webhookNotifications() {
		for _, rotated := range []time.Time{{}, now.Add(time.Hour), now.Add(-time.Hour)} {
			n.Subscriber.Target, n.Subscriber.Secret = address, fresh
			s := webhookSigned{Good: []string{fresh}, Wrong: []string{other, old}}
			if !rotated.IsZero() {
				n.Subscriber.OldSecret, n.Subscriber.OldSecretUntil = old, rotated
			}
			if rotated.After(now) {
				s.Good, s.Wrong = []string{fresh, old}, []string{other}
			}
			w := webhookSender(t)
			w.visitors = w.webhookConnections // the receiver is at a private address
			if o := w.send(t.Context(), n); o.Result != audience.SendAccepted {
				t.Fatalf("outcome: %+v", o)
			}
			s.Seen = <-seen
			if got := len(strings.Fields(s.Seen.Header.Get("webhook-signature"))); got != len(s.Good) {
				t.Errorf("%d signatures for %d secrets", got, len(s.Good))
			}
			signed = append(signed, s)
		}
	}
	return signed
}

func TestWebhookSignatures(t *testing.T) {
	for _, s := range webhookSignedRequests(t) {
		for _, secret := range slices.Concat(s.Good, s.Wrong) {
			want := slices.Contains(s.Good, secret)
			verifier, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			if err := verifier.Verify(s.Seen.Body, s.Seen.Header); (err == nil) != want {
				t.Errorf("the library returns %v, want verified: %v", err, want)
			}
			if got := verifiesBySpecification(t, secret, s.Seen.Header, s.Seen.Body); got != want {
				t.Errorf("by the specification verified: %v, want %v", got, want)
			}
			changed := append(bytes.Clone(s.Seen.Body), ' ')
			if verifier.Verify(changed, s.Seen.Header) == nil ||
				verifiesBySpecification(t, secret, s.Seen.Header, changed) {
				t.Error("another body is verified")
			}
		}
	}
}
