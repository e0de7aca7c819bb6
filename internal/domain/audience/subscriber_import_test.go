package audience_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestImportsAreRead reads lists as people have them.
func TestImportsAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		list string
		want []string
	}{
		"addresses": {"ada@example.com\n\n Grace@Example.com \r\n",
			[]string{"1 ada@example.com added", "3 grace@example.com added"}},
		"a bad line": {"ada@example.com\nnobody\nADA@example.com\n",
			[]string{"1 ada@example.com added", "2 nobody invalid", "3 ada@example.com subscribed"}},
		"a table": {"\ufeffName;E-Mail\nAda;ada@example.com\nGrace\n",
			[]string{"2 ada@example.com added", "3  invalid"}},
		"tabs": {"email\tcomponents\nada@example.com\tapi web\n",
			[]string{"2 ada@example.com added api web"}},
		"quotes": {"target\n\"ada@example.com\nx\"y\n", []string{"2  invalid"}},
		"an export": {"target,channel,state\nada@example.com,email,active\nx@example.com,email,unconfirmed\n" +
			"https://example.com,webhook,active\n", []string{
			"2 ada@example.com added", "3 x@example.com invalid", "4 https://example.com invalid",
		}},
		"capitals":       {"Email,Channel,State\rada@example.com,Email,Active\r", []string{"2 ada@example.com added"}},
		"guarded":        {"'+ada@example.com\n", []string{"1 +ada@example.com added"}},
		"only a heading": {"email\n", nil},
		"nothing":        {" \n", nil},
		"no text":        {"a\x00", nil},
		"too large":      {strings.Repeat(" ", audience.MaxImportBytes) + "x", nil},
		"too long":       {strings.Repeat("x\n", audience.MaxImportLines+1), nil},
	} {
		lines, err := audience.SubscriberImport{CSV: c.list, Consent: "a form"}.Check()
		var bad *kernel.ValidationError
		if (c.want == nil) != (errors.As(err, &bad) && bad.Has("csv")) {
			t.Errorf("reading the list %s: error %v", name, err)
		}
		var got []string
		for _, l := range lines {
			got = append(got,
				strings.TrimSpace(fmt.Sprint(l.Line, " ", l.Target, " ", l.Result, " ",
					strings.Join(l.Components, " "))))
			if (l.Reason == "") != (l.Result == audience.ImportAdded) {
				t.Errorf("%s: the reason of line %d is %q", name, l.Line, l.Reason)
			}
		}
		if c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("lines of the list %s: %q, want %q", name, got, c.want)
		}
	}
	var bad *kernel.ValidationError
	if _, err := (audience.SubscriberImport{}).Check(); !errors.As(err, &bad) || len(bad.Messages()) != 2 {
		t.Errorf("without consent and list: %v", err)
	}
}

// TestLimitsOfImports checks the longest list and consent, and what is said of one byte, line or character more.
func TestLimitsOfImports(t *testing.T) {
	line, consent := "ada@example.com", "a form"
	for what, c := range map[string]struct{ list, consent, want string }{
		"lines": {strings.Repeat(line+"\n", audience.MaxImportLines), consent, ""},
		"lines below a heading": {"email\n" + strings.Repeat(line+"\n", audience.MaxImportLines),
			consent, ""},
		"one line more": {strings.Repeat(line+"\n", audience.MaxImportLines+1), consent,
			"csv: The csv may have at most 5000 lines."},
		"bytes": {strings.Repeat(" ", audience.MaxImportBytes-len(line)) + line, consent,
			""},
		"one byte more": {strings.Repeat(" ", audience.MaxImportBytes-len(line)+1) + line,
			consent, "csv: The csv may not be larger than 512 KiB."},
		"not in UTF-8": {line + "\xff", consent, "csv: The csv must be text in UTF-8."},
		"nothing":      {"\ufeff \r\n", consent, "csv: The csv field is required."},
		"only a heading": {"email\n", consent,
			"csv: The csv must have a line with an email address."},
		"the longest consent":                  {line, strings.Repeat("ü", audience.MaxConsentLength), ""},
		"one character more":                   {line, strings.Repeat("ü", audience.MaxConsentLength+1), "consent: "},
		"no consent, and no consent of spaces": {line, " ", "consent: "},
	} {
		lines, err := audience.SubscriberImport{CSV: c.list, Consent: c.consent}.Check()
		var bad *kernel.ValidationError
		got := ""
		if errors.As(err, &bad) {
			for field, messages := range bad.Messages() {
				got += field + ": " + strings.Join(messages, " ")
			}
		}
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) || c.want == "" && len(lines) == 0 {
			t.Errorf("%s: %d lines, %q, want %q", what, len(lines), got, c.want)
		}
	}
}

// TestReasonsOfImports holds what is said of each line that is not added.
func TestReasonsOfImports(t *testing.T) {
	list := "target,channel,components,state\n" +
		"ada@example.com,,,\nADA@example.com,email,,active\nnobody,email,,\n123,sms,,\n+4915112345678,sms,,\n" +
		"https://example.com,webhook,,\n" +
		"https://hooks.slack.com/…,slack,,\nx@example.com,email,,unconfirmed\nx@example.com,email,,\n" +
		strings.Repeat("y", 300) + ",email,,\n"
	want := []string{
		"", "An earlier line has the same address.", "This is not an email address.",
		"This is not a phone number with its country code, such as +4915112345678.", "",
		"Only email addresses, phone numbers and chats can be imported. A webhook has a secret, which is shown when " +
			"it is added.",
		"This is not the whole incoming-webhook URL of Slack. An export does not have it, because it is a secret.",
		"In the list, its state is not active.", "", "This is not an email address.",
	}
	lines, err := audience.SubscriberImport{CSV: list, Consent: "a form"}.Check()
	if err != nil || len(lines) != len(want) {
		t.Fatalf("Check of the list: %d lines, %v", len(lines), err)
	}
	report := audience.SubscriberImportReport{PageID: "page_1", PageName: "Acme", Consent: "a form", Lines: lines}
	for i, l := range lines {
		if l.Reason != want[i] || l.Line != i+2 || (l.Address != "") != (want[i] == "") {
			t.Errorf("line %d: %+v, want %q", i+2, l, want[i])
		}
	}
	if got := []rune(lines[9].Target); len(got) != kernel.MaxEmailLength+1 || lines[6].Target != "…" {
		t.Errorf("targets %q and %q", lines[9].Target, lines[6].Target)
	}
	added := report.Count(audience.ImportAdded)
	if added != 3 || report.Count(audience.ImportSubscribed) != 1 || report.Count(audience.ImportInvalid) != 6 {
		t.Errorf("%d are added: %+v", added, report)
	}
	fields := report.AuditObject().Fields
	if fields["imported_subscribers"] != 3 || fields["consent"] != "a form" || fields["confirmed"] != false {
		t.Errorf("the audit log: %v", fields)
	}
}
