package signin

import "testing"

func TestBrowserName(t *testing.T) {
	for client, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0": "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 " +
			"Safari/537.36 Edg/126.0": "Edge on Windows",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
			"Version/17.5 Mobile/15E148 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36": "Chrome on Android",
		"curl/8.8": "curl", "": "Unknown browser", "<script>": "Unknown browser",
	} {
		if got := browserName(client); got != want {
			t.Errorf("%q: %q, want %q", client, got, want)
		}
	}
}
