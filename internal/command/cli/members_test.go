package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestPeopleRequests(t *testing.T) {
	const listed = `{"data": [{"id": "usr_1", "email": "ada@example.com"}, {"id": "usr_2", "email": ` +
		`"grace@example.com"}], "meta": {"total": 2}}`
	for _, c := range []struct {
		args, want string
	}{
		{"member list", `GET /api/v1/members?page=1&per_page=100 `},
		{"member edit|Grace@Example.com|--role=editor", `PATCH /api/v1/members/usr_2 {"role":"editor"}`},
		{"member edit|usr_7|--role=admin", `PATCH /api/v1/members/usr_7 {"role":"admin"}`},
		{"member edit|usr_7|--page=acme|--page=beta", `PATCH /api/v1/members/usr_7 {"pages":["acme","beta"]}`},
		{"member edit|usr_7|--all-pages", `PATCH /api/v1/members/usr_7 {"pages":null}`},
		{"invitation create|--email=eve@example.com|--page=acme",
			`POST /api/v1/invitations {"email":"eve@example.com","pages":["acme"],"role":"viewer"}`},
		{"member remove|ada@example.com", `DELETE /api/v1/members/usr_1 `},
		{"invitation list", `GET /api/v1/invitations?page=1&per_page=100 `},
		{"invitation create|--email=eve@example.com|--role=admin",
			`POST /api/v1/invitations {"email":"eve@example.com","role":"admin"}`},
		{"invitation delete|grace@example.com", `DELETE /api/v1/invitations/usr_2 `},
		{"session list", `GET /api/v1/sessions?page=1&per_page=100 `},
		{"session end|ses_1", `DELETE /api/v1/sessions/ses_1 `},
	} {
		var last string
		status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			sent, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			last = r.Method + " " + r.RequestURI + " " + canonical(sent)
			switch {
			case r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
			case r.Method == http.MethodGet:
				io.WriteString(w, listed)
			default:
				io.WriteString(w, `{"data": {"id": "x"}}`)
			}
		}, strings.Split(strings.Replace(c.args, " ", "|", 1), "|")...)
		if got := strings.TrimSuffix(last, "\n"); status != 0 || got != c.want {
			t.Errorf("%s: status %d, sent %q, want %q: %s", c.args, status, got, c.want, stderr)
		}
	}
	status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, listed)
	}, "member", "delete", "eve@example.com")
	if status != 1 || !strings.Contains(stderr, `there is no member with the email address "eve@example.com"`) {
		t.Errorf("an unknown address: %d, %s", status, stderr)
	}
}

func TestInvitationOutput(t *testing.T) {
	const link = "https://status.example.com/admin/accept?code=x"
	_, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"data": {"id": "inv_1", "email": "eve@example.com", "url": "`+link+`"}}`)
	}, "invitation", "create", "--email=eve@example.com")
	if stdout != link+"\n" || !strings.Contains(stderr, "shown only this once") {
		t.Errorf("printed %q and %q", stdout, stderr)
	}
}
