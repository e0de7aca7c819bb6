package notify

import (
	"io"
	"mime/quotedprintable"
	"net/mail"
	"net/url"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
)

// TestAccountMail sends mails to a real server.
func TestAccountMail(t *testing.T) {
	peer := newSMTPPeer(t, "plain")
	server, err := url.Parse("smtp://" + peer.address)
	if err != nil {
		t.Fatal(err)
	}
	n := &Notifier{
		Config: Config{
			SMTP: server, From: mail.Address{Address: "status@example.com"}, BaseURL: "https://status.example.com",
		},
	}
	link := "https://status.example.com/admin/reset?code=" + strings.Repeat("A", 26)
	err = n.SendAccountMail(t.Context(), AccountMail{
		To: "grace@example.com", Subject: "Zoë invites you\r\nBcc: eve@example.com",
		Text: "Open this link:\n\n" + link + "\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	mails := peer.received()
	if len(mails) != 1 || mails[0].from != "status@example.com" || mails[0].to != "grace@example.com" {
		t.Fatalf("received %+v", mails)
	}
	m, err := mail.ReadMessage(strings.NewReader(mails[0].content))
	if err != nil {
		t.Fatal(err)
	}
	if m.Header.Get("Bcc") != "" || m.Header.Get("Auto-Submitted") != "auto-generated" ||
		m.Header.Get("From") != `"Allswell" <status@example.com>` {
		t.Errorf("the header: %v", m.Header)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil || !strings.Contains(string(body), link+"\r\n") {
		t.Errorf("the body: %q, %v", body, err)
	}

	n.SMTP = &url.URL{Scheme: "smtp", Host: "127.0.0.1:1"}
	err = n.SendAccountMail(t.Context(), AccountMail{To: "grace@example.com", Subject: "x", Text: "x"})
	if err == nil || strings.Contains(err.Error(), "grace@") {
		t.Errorf("a server that does not exist: %v", err)
	}
	n.SMTP = nil
	if err := n.SendAccountMail(t.Context(), AccountMail{}); err == nil {
		t.Error("a mail was sent without a server")
	}
}

// TestAlertMail sends the mails of an alert to a real server: they belong together, and each attempt has the same
// Message-ID.
func TestAlertMail(t *testing.T) {
	peer := newSMTPPeer(t, "plain")
	n := &Notifier{
		Config: Config{
			SMTP: &url.URL{Scheme: "smtp", Host: peer.address}, From: mail.Address{Address: "status@example.com"},
		},
	}
	for _, id := range []string{"msg_1", "msg_1", "msg_2"} {
		m := AlertMail{
			AccountMail{To: "grace@example.com", Subject: "גיבוי is down\r\nBcc: eve@example.com", Text: "No ping.\n"},
			id, "thr_1",
		}
		if o := n.SendAlertMail(t.Context(), m); o.Result != audience.SendAccepted || o.Reason != "" {
			t.Fatalf("outcome: %+v", o)
		}
	}
	var ids []string
	for _, got := range peer.received() {
		m, err := mail.ReadMessage(strings.NewReader(got.content))
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("Bcc") != "" || m.Header.Get("References") != "<thr_1@example.com>" ||
			m.Header.Get("In-Reply-To") != "<thr_1@example.com>" {
			t.Errorf("the header: %v", m.Header)
		}
		ids = append(ids, m.Header.Get("Message-ID"))
	}
	if got := strings.Join(ids, " "); got != "<msg_1@example.com> <msg_1@example.com> <msg_2@example.com>" {
		t.Errorf("the ids are %s", got)
	}
	n.SMTP = &url.URL{Scheme: "smtp", Host: "127.0.0.1:1"}
	o := n.SendAlertMail(t.Context(), AlertMail{AccountMail: AccountMail{To: "grace@example.com"}})
	if o.Result == audience.SendAccepted || o.Reason == "" || strings.Contains(o.Reason, "127.0.0.1") {
		t.Errorf("a server that does not exist: %+v", o)
	}
}

// TestHeaderOfAccountMail holds each field of the header of a mail to a person.
func TestHeaderOfAccountMail(t *testing.T) {
	for name, want := range map[string]string{
		"": `"Allswell" <status@example.com>`, "Acme": `"Acme" <status@example.com>`,
	} {
		n := &Notifier{Config: Config{From: mail.Address{Name: name, Address: "status@example.com"}}}
		ids := make(map[string]bool)
		for range 2 {
			content, err := n.composeAccountMail(AccountMail{
				To: "grace@example.com", Subject: "Hello", Text: "one\ntwo = 2\n",
			})
			if err != nil {
				t.Fatal(err)
			}
			m, err := mail.ReadMessage(strings.NewReader(string(content)))
			if err != nil {
				t.Fatal(err)
			}
			for field, value := range map[string]string{
				"From": want, "To": "<grace@example.com>", "Subject": "Hello", "Auto-Submitted": "auto-generated",
				"Mime-Version": "1.0",
				"Content-Type": "text/plain; charset=utf-8", "Content-Transfer-Encoding": "quoted-printable",
				"In-Reply-To": "", "References": "",
			} {
				if got := m.Header.Get(field); got != value {
					t.Errorf("%s is %q, want %q", field, got, value)
				}
			}
			id := m.Header.Get("Message-ID")
			if ids[id] || !strings.HasPrefix(id, "<") || !strings.HasSuffix(id, "@example.com>") || len(id) < 30 {
				t.Errorf("the Message-ID is %q", id)
			}
			ids[id] = true
			if _, err := m.Header.Date(); err != nil {
				t.Error(err)
			}
			if _, body, _ := strings.Cut(string(content), "\r\n\r\n"); body != "one\r\ntwo =3D 2\r\n" {
				t.Errorf("the body is %q", body)
			}
		}
	}
	n := new(Notifier)
	o := n.SendAlertMail(t.Context(), AlertMail{})
	if o.Result != audience.SendFailed || o.Reason != "ALLSWELL_SMTP_URL is not set." {
		t.Errorf("without a mail server: %+v", o)
	}
}
