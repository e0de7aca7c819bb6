package audience_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestPhoneNumbers checks which numbers are accepted, and that one number has one form.
func TestPhoneNumbers(t *testing.T) {
	for typed, want := range map[string]string{
		"+4915112345678":                 "+4915112345678",
		" +49 151 / 123-456.78 ":         "+4915112345678",
		"0049 (151) 12345678":            "+4915112345678",
		"+49 (0) 151 12345678":           "+4915112345678",
		"+1\u00a0555\u2011867\u20135309": "+15558675309",
		"\u202a+971 50 123 4567\u202c":   "+971501234567",
		"+٩٧١٥٠١٢٣٤٥٦٧":                  "+971501234567",
		"۰۰۹۸۹۱۲۱۲۳۴۵۶۷":                 "+989121234567",
		"+1234567":                       "+1234567",
		"+123456789012345":               "+123456789012345",
		"":                               "", "+": "", "+123456": "", "+1234567890123456": "", "015112345678": "",
		"4915112345678":  "",
		"+0915112345678": "", "++4915112345678": "", "+49151x2345678": "", "+49151\n12345678": "",
		"+4915112345678;+4915112345679": "",
		"tel:+4915112345678":            "", "+49 151 12345678 ext. 5": "", "ada@example.com": "",
		"000004915112345678": "",
	} {
		n, err := audience.NewSubscriber{Channel: audience.ChannelSMS, Target: typed}.CheckSignUp()
		var bad *kernel.ValidationError
		if want == "" && (!errors.As(err, &bad) || !bad.Has("target")) ||
			want != "" && (err != nil || n.Target != want) {
			t.Errorf("CheckSignUp of %q: target %q, %v; want %q", typed, n.Target, err, want)
		}
	}
}

// TestInCountries checks the countries of numbers.
func TestInCountries(t *testing.T) {
	for _, c := range []struct {
		number string
		codes  []string
		want   bool
	}{
		{"+4915112345678", nil, true}, {"+4915112345678", []string{"43", "49"}, true},
		{"+4915112345678", []string{"4", "1"}, true},
		{"+4915112345678", []string{"43", "1"}, false}, {"+14915112345", []string{"49"}, false},
		{"+18765551234", []string{"1876"}, true}, {"+18095551234", []string{"1876"}, false},
	} {
		if got := audience.InCountries(c.number, c.codes); got != c.want {
			t.Errorf("InCountries(%s, %v) = %v", c.number, c.codes, got)
		}
	}
}

// TestRulesOfSMS checks that SMS behaves like mail: merged, in order, confirmed by the owner, through one gateway, and
// without what only programs get.
func TestRulesOfSMS(t *testing.T) {
	c := audience.ChannelSMS
	if !c.Merged() || !c.Coded() || !c.Confirmed() || !c.Gateway() || c.Secret() || c.Chat() || c.Signed() ||
		c.Warnings() || c.ComponentChanges() {
		t.Error("other rules")
	}
	visitor := audience.Subscriber{Channel: c, Target: "+4915112345678"}
	operator := visitor
	operator.AddedByOperator = true
	if visitor.Destination() != operator.Destination() || c.Shown(visitor.Target) != visitor.Target {
		t.Errorf("an SMS subscriber has the destination %s, and is shown as %s", visitor.Destination(),
			c.Shown(visitor.Target))
	}
}

// TestPhonesInImports checks lines with phone numbers, also as an export writes them.
func TestPhonesInImports(t *testing.T) {
	var out strings.Builder
	err := kernel.WriteCSV(
		&out,
		[][]string{
			{"target", "channel"}, {"+4915112345678", "sms"}, {"0049 151 12345678", "sms"}, {"015112345678", "SMS"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := audience.SubscriberImport{CSV: out.String(), Consent: "a form"}.Check()
	if err != nil || len(lines) != 3 {
		t.Fatalf("Check of an import = %v, %v", lines, err)
	}
	l := lines[0]
	if l.Result != audience.ImportAdded || l.Address != "+4915112345678" || l.Channel != audience.ChannelSMS {
		t.Errorf("imported phone number: %+v", l)
	}
	if l := lines[1]; l.Result != audience.ImportSubscribed {
		t.Errorf("the same number again: %+v", l)
	}
	if l := lines[2]; l.Result != audience.ImportInvalid || !strings.Contains(l.Reason, "country code") {
		t.Errorf("phone number without a country: %+v", l)
	}
}
