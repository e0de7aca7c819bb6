package alertchannel

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestRetryAfterOfServices checks every form of the header, and its limit, in every answer that means later.
func TestRetryAfterOfServices(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	for value, want := range map[string]time.Duration{
		"": 0, "-1": 0, "soon": 0, "NaN": 0, "1.5": 1500 * time.Millisecond, "3600": time.Hour, "3601": time.Hour,
		"1e300": time.Hour,
		now.Add(-time.Minute).Format(http.TimeFormat):   0,
		now.Add(time.Minute).Format(http.TimeFormat):    time.Minute,
		now.Add(time.Hour).Format(http.TimeFormat):      time.Hour,
		now.Add(24 * time.Hour).Format(http.TimeFormat): time.Hour,
	} {
		a := answer{header: http.Header{"Retry-After": {value}}}
		if got := a.retryAfter(now); got != want {
			t.Errorf("Retry-After: %s: %s, want %s", value, got, want)
		}
	}
	for status := 200; status < 600; status++ {
		want := audience.SendRejected
		switch {
		case status < 300:
			want = audience.SendAccepted
		case status == 408 || status == 425 || status == 429 || status >= 500:
			want = audience.SendFailed
		}
		a := answer{status: status, header: http.Header{"Retry-After": {"7"}}}
		o := a.outcome("Acme")
		if o.Result != want || (o.RetryAfter == 7*time.Second) != (want == audience.SendFailed) {
			t.Errorf("status %d: %+v", status, o)
		}
	}
}

// TestNoTextHasSecrets checks that neither the reason, which members see, nor the detail, which is logged, has a secret
// of the channel or the key of a link.
func TestNoTextHasSecrets(t *testing.T) {
	c := alert.Channel{
		Config:  json.RawMessage(`{"user":"ann"}`),
		Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"correct horse"`)},
	}
	m := alert.Message{Thread: &alert.Thread{ID: "thr_1", Key: "0123456789abcdef0123456789"}}
	basic := base64.StdEncoding.EncodeToString([]byte("ann:correct horse"))
	text := "refused: correct horse, 0123456789abcdef0123456789, Basic " + basic
	r := Result{SendOutcome: audience.SendOutcome{Reason: text}}
	r.Detail = text
	r = r.clean(secretsOf(c, m))
	for name, got := range map[string]string{"reason": r.Reason, "detail": r.Detail} {
		if !strings.HasPrefix(got, "refused: ") || strings.Contains(got, "horse") ||
			strings.Contains(got, m.Thread.Key) || strings.Contains(got, basic) {
			t.Errorf("the %s is %q", name, got)
		}
	}
}

// TestURLsOfServices checks which URLs of services are accepted.
func TestURLsOfServices(t *testing.T) {
	for text, valid := range map[string]bool{
		"https://www.example.com/": true, "http://www.example.com:8080/a?b=c": true, "ftp://www.example.com/": false,
		"https://ann@www.example.com/": false, "https://ann:secret@www.example.com/": false,
		"https://www.example.com/#a": false,
		"https:///a":                 false, "www.example.com": false,
	} {
		var bad kernel.ValidationError
		if checkURL(&bad, "url", &text); (bad.Err() == nil) != valid {
			t.Errorf("%s: %v", text, bad.Err())
		}
	}
}

// TestServersOfServices checks which addresses of servers are accepted. They are shown, so that they have no secrets.
func TestServersOfServices(t *testing.T) {
	for variant, service := range services {
		name, _, _ := strings.Cut(variant, " ")
		kind, ok := TypeOf(name)
		if _, has := kind.Field("server_url"); !ok || !has {
			continue
		}
		for text, valid := range map[string]bool{
			"https://www.example.com": true, "https://www.example.com:8443/": true,
			"https://www.example.com/x/":          name != ntfyType.Name,
			"https://www.example.com/?token=abcd": false, "https://www.example.com?": false,
			"https://www.example.com/#abcd": false, "https://www.example.com/#": false,
			"https://ann@www.example.com": false, "https://ann:abcd@www.example.com/": false,
		} {
			var given map[string]json.RawMessage
			if err := json.Unmarshal([]byte(service.config), &given); err != nil {
				t.Fatal(err)
			}
			given["server_url"] = json.RawMessage(`"` + text + `"`)
			_, _, err := kind.Read(given)
			var bad *kernel.ValidationError
			errors.As(err, &bad)
			if (err == nil) != valid || err != nil && (len(bad.Messages()) != 1 || !bad.Has("server_url")) {
				t.Errorf("%s: %s: %v", variant, text, err)
			}
		}
	}
}
