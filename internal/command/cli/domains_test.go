package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

func TestPageDomain(t *testing.T) {
	domain := ""
	server := func(w http.ResponseWriter, r *http.Request) {
		want := map[string]string{
			"GET": "/api/v1/pages/acme/domain", "POST": "/api/v1/pages/acme/domain/verify",
		}[r.Method]
		if r.URL.Path != want {
			t.Errorf("page domain sent: %s %s", r.Method, r.URL.Path)
		}
		io.WriteString(w, `{"data": {`+domain+`}}`)
	}
	const record = `"record": {"type": "TXT", "name": "_allswell-challenge.a.example", "value": ` +
		`"allswell-verification=x"}`
	const shown = "TXT record:  _allswell-challenge.a.example\nValue:       allswell-verification=x\n"
	for _, c := range []struct {
		answer, want, fails string
	}{
		{`"domain": null, "status": null`, "Domain:  none\n", "the domain  is not verified"},
		{`"domain": "a.example", "status": "verified", "record": null`,
			"Domain:      a.example\nStatus:      verified: the page is served there\nTXT record:  not needed\n", ""},
		{`"domain": "a.example", "status": "pending", ` + record +
			`, "last_check_at": "2026-11-21T04:00:00.000Z", "last_result": "missing", "next_check_at": ` +
			`"2026-11-21T05:00:00.000Z"`,
			"Domain:      a.example\nStatus:      pending: the page is served there once the TXT record is found\n" +
				shown +
				"Last check:  2026-11-21 04:00:00 +00:00: the TXT record was not found\nNext check:  2026-11-21 " +
				"05:00:00 +00:00\n", "the domain a.example is not verified"},
		{`"domain": "a.example", "status": "failing", ` + record +
			`, "verified_at": "2026-11-21T04:00:00.000Z", "release_at": "2026-11-28T04:00:00.000Z"`,
			"Domain:      a.example\nStatus:      failing: the page is served there, but the TXT record is missing\n" +
				"Verified:    2026-11-21 04:00:00 +00:00\n" + shown + "Released:    2026-11-28 04:00:00 +00:00\n",
			"the domain a.example is not verified"},
		{`"domain": "a.example", "status": "verified", "lookup": {"result": "elsewhere", "message": "a.example ` +
			`points to 192.0.2.7, not to b.example.", "checked_at": "2026-11-21T04:00:00.000Z"}`,
			"Domain:      a.example\nStatus:      verified: the page is served there\nTXT record:  not needed\n" +
				"DNS:         a.example points to 192.0.2.7, not to b.example.\nLooked up:   2026-11-21 04:00:00 " +
				"+00:00\n", ""},
	} {
		domain = c.answer
		status, stdout, stderr := against(t, server, "page", "domain", "acme")
		if status != 0 || stdout != c.want || stderr != "" {
			t.Errorf("%d %s\n%s\nwant\n%s", status, stderr, stdout, c.want)
		}
		status, stdout, stderr = against(t, server, "page", "domain", "acme", "--verify")
		if (status == 0) != (c.fails == "") || !strings.Contains(stderr, c.fails) || stdout != c.want {
			t.Errorf("--verify: %d %s\n%s", status, stderr, stdout)
		}
	}
	domain = `"domain": "a.example", "status": "pending"`
	_, stdout, _ := against(t, server, "page", "domain", "acme", "--json")
	if !strings.Contains(stdout, `"status": "pending"`) {
		t.Errorf("--json: %s", stdout)
	}
}

// TestDomainTexts checks that every value of the API has an explanation.
func TestDomainTexts(t *testing.T) {
	for _, status := range statuspage.DomainStatuses {
		if domainStatusTexts[client.DomainStatus(status)] == "" {
			t.Errorf("the status %s is not explained", status)
		}
	}
	for _, result := range statuspage.DomainResults {
		if domainResultTexts[client.DomainResult(result)] == "" {
			t.Errorf("the result %s is not explained", result)
		}
	}
}
