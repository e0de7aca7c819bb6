package kernel_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

// TestNamesAreOneLine checks that names cannot break a line or turn the direction of the text around them, wherever
// they are entered.
func TestNamesAreOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"Ann": "Ann", "  Ann\t": "Ann", "An\u202en\n": "Ann", "a\r\nb": "ab", "a\u2028b\u2029": "ab",
		"\u200f\u2066x\u2069": "x", "\u061c": "", "\u200b\n": "", "\xffAnn\x00": "Ann",
		"\ufffeAnn\uffff\U0001fffe\ufdd0": "Ann",
		// joiners are part of a text
		"\U0001f469\u200d\U0001f4bb": "\U0001f469\u200d\U0001f4bb", "می\u200cخواهم": "می\u200cخواهم",
		"ភាសា\u200bខ្មែរ": "ភាសា\u200bខ្មែរ", // it is written without spaces, and the lines can be broken here
	} {
		if got := kernel.OneLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if want == "" {
			continue
		}
		var bad kernel.ValidationError
		if kernel.CheckLine(&bad, "name", want, kernel.MaxNameLength); bad.Err() != nil {
			t.Errorf("%q is refused: %v", want, bad.Err())
		}
	}
	for _, name := range []string{
		"two\nlines", "a\tb", "a\u0085b", "a\u2028b", "a\u202eb", "a\u2067b", "a\u200eb", "a\ufffeb", "a\uffffb",
		"a\U0010ffffb", "\n",
	} {
		for kind, err := range map[string]error{
			"component": domaintest.CheckNew(resource.Component, statuspage.Component{Name: name}),
			"group":     domaintest.CheckNew(resource.Group, statuspage.Group{Name: name}),
			"page":      domaintest.CheckNew(resource.Page, statuspage.Page{Name: name}),
			"monitor":   domaintest.MonitorRefusal(monitor.MonitorOf(monitor.MonitorConfig{Name: name})),
			"token":     account.NewToken{Name: name}.Validate(), "user": (&account.NewUser{Name: name}).Validate(),
			"template": domaintest.CheckNew(resource.IncidentTemplate, statuspage.IncidentTemplate{Name: name}),
		} {
			var bad *kernel.ValidationError
			if !errors.As(err, &bad) || !bad.Has("name") {
				t.Errorf("%q is accepted as the name of a %s: %v", name, kind, err)
			}
		}
	}
}

// TestComments checks that comments can have lines, and are otherwise like names.
func TestComments(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "one\ntwo\n": true, "می\u200cخواهم": true, "a\u200bb": true, "a\tb": true, "a\r\nb": true,
		"a\rb": false, "a\x1b[31mb": false, "a\u202eb": false, "a\u2028b": false, "a\uffffb": false,
		"a\x00b": false, "\xff": false, "too long.": false,
	} {
		var bad kernel.ValidationError
		kernel.CheckLines(&bad, "comment", text, len("one\ntwo\n"))
		if got := bad.Err() == nil; got != want {
			t.Errorf("%q is accepted: %t, want %t", text, got, want)
		}
	}
}

// TestJoinInvalid checks that nothing of several validations is lost or worded anew, and that other errors stay what
// they are.
func TestJoinInvalid(t *testing.T) {
	var one, two kernel.ValidationError
	one.Add("name", "The name is 100%% wrong.")
	one.Add("slug", "The slug is wrong.")
	two.Add("name", "The name is too long.")
	if err := kernel.JoinInvalid(nil, (&kernel.ValidationError{}).Err()); err != nil {
		t.Errorf("nothing is wrong: %v", err)
	}
	var bad *kernel.ValidationError
	err := kernel.JoinInvalid(one.Err(), nil, two.Err())
	want := map[string][]string{
		"name": {"The name is 100% wrong.", "The name is too long."}, "slug": {"The slug is wrong."},
	}
	if !errors.As(err, &bad) || !reflect.DeepEqual(bad.Messages(), want) {
		t.Errorf("JoinInvalid = %v, want %v", err, want)
	}
	if err := kernel.JoinInvalid(one.Err(), kernel.ErrBusy, two.Err()); err != kernel.ErrBusy {
		t.Errorf("another error became %v", err)
	}
}

// TestUnreadIsKept checks that joining does not modify an error about unreadable values, because a transaction may be
// repeated.
func TestUnreadIsKept(t *testing.T) {
	var unread, invalid kernel.ValidationError
	unread.Add("interval", "must be a whole number")
	invalid.Add("name", kernel.Required)
	for range 2 {
		domaintest.CheckFields(t, kernel.JoinUnread(&unread, invalid.Err()), "interval", "name")
	}
	domaintest.CheckFields(t, kernel.JoinUnread(&unread, nil), "interval")
}
