package notify

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// browser is a browser with its subscription at a push service.
type browser struct {
	key    *ecdh.PrivateKey
	auth   []byte
	target audience.PushTarget
}

func newBrowser(t *testing.T, endpoint string) browser {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b := browser{key: key, auth: make([]byte, 16)}
	rand.Read(b.auth)
	encode := base64.RawURLEncoding.EncodeToString
	b.target = audience.PushTarget{Endpoint: endpoint, P256DH: encode(key.PublicKey().Bytes()), Auth: encode(b.auth)}
	return b
}

// decrypt decrypts a message as RFC 8291 and RFC 8188 describe it.
func (b browser) decrypt(body []byte) ([]byte, error) {
	if len(body) < 86 || body[20] != 65 {
		return nil, errors.New("no header of aes128gcm with a key")
	}
	salt, sender, sealed := body[:16], body[21:86], body[86:]
	public, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, err
	}
	shared, err := b.key.ECDH(public)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(b.key.PublicKey().Bytes()) + string(sender)
	ikm, err := hkdf.Key(sha256.New, shared, b.auth, info, 32)
	if err != nil {
		return nil, err
	}
	content, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(content)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := gcm.Open(nil, nonce, sealed, nil)
	return []byte(strings.TrimSuffix(strings.TrimRight(string(plain), "\x00"), "\x02")), err
}

// checkVAPID checks the header by which a push service knows the sender (RFC 8292).
func checkVAPID(t *testing.T, header, public string) {
	t.Helper()
	token, key, ok := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	if !ok || key != public || len(parts) != 3 {
		t.Fatalf("Authorization: %s", header)
	}
	decode := func(text string) []byte {
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	point, signature := decode(public), decode(parts[2])
	err := json.Unmarshal(decode(parts[1]), &claims)
	if err != nil || claims.Aud != "https://fcm.googleapis.com" ||
		claims.Sub != "mailto:status@example.com" ||
		time.Until(time.Unix(claims.Exp, 0)) > 24*time.Hour {
		t.Errorf("claims of VAPID: %+v, %v", claims, err)
	}
	verifier, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(
		verifier, digest[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]),
	) {
		t.Error("the signature is wrong")
	}
}

// servePushes makes all push services of a site one server of the test.
func servePushes(s *site, handle http.HandlerFunc) {
	service := httptest.NewTLSServer(handle)
	s.Cleanup(service.Close)
	s.visitors = func(c *webhookConnections) {
		c.transport.TLSClientConfig = &tls.Config{
			RootCAs: service.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "example.com",
		}
		c.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", service.Listener.Addr().String())
		}
	}
}

// TestPush subscribes a browser to the end of an incident. It receives only this notification, once and encrypted, and
// is then deleted.
func TestPush(t *testing.T) {
	runOnSites(t, func(s *site) {
		seen := make(chan receivedRequest, 16)
		servePushes(s, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			seen <- receivedRequest{r.Method, r.RequestURI, r.Header, body}
			w.WriteHeader(http.StatusCreated)
		})
		s.start("")
		inc, err := s.CreateIncident(s.Context(), s.ws, "acme", statuspage.Incident{Title: "Checkout is slow"},
			statuspage.IncidentUpdate{Message: "We look into it."}, nil)
		s.ok(err)
		b := newBrowser(s.T, "https://fcm.googleapis.com/fcm/send/abcdefghijklmnop")
		s.ok(s.SubscribeToEnd(s.Context(), store.PushSignUp{Slug: "acme", IncidentID: inc.ID, Target: b.target}))
		if counts, err := s.Audience(s.Context(), s.ws, "acme", "", nil); err != nil || len(counts) != 0 {
			s.Errorf("the browser counts as a subscriber of the page: %v, %v", counts, err)
		}
		s.openIncident("another incident")
		_, err = s.PostUpdate(s.Context(), s.ws, inc.ID, statuspage.IncidentUpdate{Message: "Nearly."}, nil)
		s.ok(err)
		state := statuspage.IncidentResolved
		_, err = s.PostUpdate(s.Context(), s.ws, inc.ID, statuspage.IncidentUpdate{Message: "It works again."},
			func(i *statuspage.Incident) error {
				i.State = state
				return nil
			})
		s.ok(err)
		r := <-seen
		plain, err := b.decrypt(r.Body)
		s.ok(err)
		var m pushMessage
		err = json.Unmarshal(plain, &m)
		if err != nil || m.Title != "[Acme] Resolved: Checkout is slow" ||
			!strings.Contains(m.Body, "It works again.") ||
			m.URL != "https://status.example.com/status/acme/incidents/"+inc.ID || m.Tag != inc.ID || m.Lang != "en" {
			s.Errorf("message: %s, %v", plain, err)
		}
		key, err := s.PushKey(s.Context())
		s.ok(err)
		checkVAPID(s.T, r.Header.Get("Authorization"), key.Public)
		if r.Header.Get("TTL") != "86400" || r.Header.Get("Content-Encoding") != "aes128gcm" ||
			r.URI != "/fcm/send/abcdefghijklmnop" || len(r.Body) > 4096 {
			s.Errorf("request to %s: headers %v, %d bytes", r.URI, r.Header, len(r.Body))
		}
		s.waitFor("it is sent", func() bool { return s.states() == "map[sent:1]" })
		list, n, err := s.Subscribers(s.Context(), s.ws, "acme", store.SubscriberFilter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || n != 0 || len(seen) != 0 {
			s.Errorf("subscribers after the end: %v, %v, %d more messages", list, err, len(seen))
		}
	})
}

// TestPushFailure checks what the log of deliveries has of a push service's error: the status, and neither the address
// of the browser nor the service's text.
func TestPushFailure(t *testing.T) {
	runOnSites(t, func(s *site) {
		servePushes(s, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "no browser at "+r.URL.Path)
		})
		s.start("")
		inc, err := s.CreateIncident(s.Context(), s.ws, "acme", statuspage.Incident{Title: "Checkout is slow"},
			statuspage.IncidentUpdate{Message: "We look into it."}, nil)
		s.ok(err)
		s.ok(s.SubscribeToEnd(s.Context(), store.PushSignUp{
			Slug: "acme", IncidentID: inc.ID,
			Target: newBrowser(s.T, "https://fcm.googleapis.com/fcm/send/abcdefghijklmnop").target,
		}))
		state := statuspage.IncidentResolved
		_, err = s.PostUpdate(s.Context(), s.ws, inc.ID, statuspage.IncidentUpdate{Message: "It works again."},
			func(i *statuspage.Incident) error {
				i.State = state
				return nil
			})
		s.ok(err)
		s.waitFor("it is rejected", func() bool { return s.states() == "map[dead:1]" })
		if got, want := s.deliveries()[0].Reason, "The browser's push service answered 403."; got != want {
			s.Errorf("the reason is %q, want %q", got, want)
		}
	})
}

// pushAnswers are the answers of push services, and what they mean.
var pushAnswers = map[int32]audience.SendResult{
	201: audience.SendAccepted, 200: audience.SendAccepted, 404: audience.SendGone, 410: audience.SendGone,
	429: audience.SendFailed, 500: audience.SendFailed,
	302: audience.SendRejected, 400: audience.SendRejected, 403: audience.SendRejected, 413: audience.SendRejected,
}

// setPushKey gives a sender a key of its own.
func setPushKey(t *testing.T, p *push) {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	p.key = func(context.Context) (store.PushKey, error) {
		return store.PushKey{Public: encode(key.PublicKey().Bytes()), Private: encode(key.Bytes())}, nil
	}
}

// TestPushAnswers checks what the answers of push services mean.
func TestPushAnswers(t *testing.T) {
	var status atomic.Int32
	s := &site{T: t}
	servePushes(s, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Location", "https://127.0.0.1/")
		w.WriteHeader(int(status.Load()))
	})
	p := newPush(Config{BaseURL: mailBase})
	defer p.close()
	setPushKey(t, p)
	s.visitors(&p.visitors)
	n := mailNotification(audience.PurposeTest)
	n.Subscriber.Channel, n.Subscriber.Address = audience.ChannelPush,
		newBrowser(t, "https://fcm.googleapis.com/fcm/send/secret").target.String()
	for code, want := range pushAnswers {
		status.Store(code)
		o := p.send(t.Context(), n)
		if o.Unreachable != (code >= 500) { // one browser that is asked to slow down stops no others
			t.Errorf("%d: unreachable: %t", code, o.Unreachable)
		}
		if o.Result != want || o.Result == audience.SendFailed && o.RetryAfter != 7*time.Second ||
			strings.Contains(o.Reason+o.Detail, "secret") {
			t.Errorf("answer %d: %+v", code, o)
		}
		reason := map[audience.SendResult]string{
			audience.SendGone: "The browser's subscription has ended.", audience.SendFailed: answered(code),
			audience.SendRejected: answered(code),
		}[want]
		if o.Reason != reason || o.Detail != "" {
			t.Errorf("%d: the reason is %q, and %q; want %q", code, o.Reason, o.Detail, reason)
		}
	}
	p.visitors.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no route to https://fcm.googleapis.com/fcm/send/secret")
	}
	p.visitors.transport.CloseIdleConnections()
	o := p.send(t.Context(), n)
	if o.Result != audience.SendFailed || !o.Unreachable ||
		o.Reason != "The browser's push service gave no HTTP answer." ||
		!strings.HasSuffix(o.Detail, "no route to …") {
		t.Errorf("unreachable: %+v", o)
	}
}

// TestPushRefusesPrivateAddresses sends to an address that no push service has, even if webhooks may have it.
func TestPushRefusesPrivateAddresses(t *testing.T) {
	q := newPush(Config{AllowPrivate: true})
	defer q.close()
	setPushKey(t, q)
	n := mailNotification(audience.PurposeTest)
	n.Subscriber.Channel = audience.ChannelPush
	n.Subscriber.Address = newBrowser(t, "https://127.0.0.1:1/x").target.String()
	o := q.send(t.Context(), n)
	if o.Result != audience.SendFailed ||
		!strings.Contains(o.Detail, "not allowed") && !strings.Contains(o.Detail, "refused") &&
			!strings.Contains(o.Detail, "prohibited") {
		t.Errorf("a private address: %+v", o)
	}
}

func answered(code int32) string { return fmt.Sprintf("The browser's push service answered %d.", code) }
