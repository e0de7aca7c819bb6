package check

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestSecretsOfProxiesCannotBeGuessed: the proxy writes its own password into the body.
func TestSecretsOfProxiesCannotBeGuessed(t *testing.T) {
	const secret = "Zx9-SEKRIT-q"
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, credentials, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
		text, _ := base64.StdEncoding.DecodeString(credentials)
		io.WriteString(w, string(text)+" "+credentials)
	}))
	t.Cleanup(proxy.Close)
	for _, guess := range []string{secret, secret[:6], base64.StdEncoding.EncodeToString([]byte("u:" + secret))} {
		o := runOnce(t, "http",
			fields(t, "url", "http://target.example/", "proxy", proxy.URL, "proxy_username", "u", "proxy_password",
				secret, "body_contains", guess))
		if o.Failure == "" {
			t.Errorf("%q: a right guess can be told from a wrong one", guess)
		}
	}
}

// TestSecretsCannotBeGuessedByMessages: the server of a WebSocket repeats a secret header.
func TestSecretsCannotBeGuessedByMessages(t *testing.T) {
	const secret = "Zx9-SEKRIT-q"
	server := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		_ = conn.Write(r.Context(), websocket.MessageText, []byte("key="+r.Header.Get("X-Api-Key")+" ok"))
		conn.Close(websocket.StatusNormalClosure, "")
	})
	url := "ws" + strings.TrimPrefix(server.URL, "http")
	for guess, want := range map[string]bool{"key=": true, "ok": true, secret: false, secret[:6]: false} {
		o := runOnce(t, "websocket",
			fields(t, "url", url, "secret_headers", map[string]string{"X-Api-Key": secret}, "expect", guess))
		if (o.Failure == "") != want {
			t.Errorf("expecting %q: %q", guess, o.Failure)
		}
	}
}
