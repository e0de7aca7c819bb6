package alert

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestRowsOfEvents holds what each event ends with, how bad it is, and its words.
func TestRowsOfEvents(t *testing.T) {
	want := []struct {
		event, end Event
		severity   kernel.Impact // of a monitor whose component would have a critical impact
		over       string        // the outcome
	}{
		{MonitorDown, MonitorUp, kernel.ImpactCritical, "Shop is up again"},
		{MonitorUp, "", kernel.ImpactNone, "Shop is up again"},
		{MonitorLate, MonitorLateEnded, kernel.ImpactMinor, "Shop is on time again"},
		{MonitorSlow, MonitorSlowEnded, kernel.ImpactMinor, "Shop is fast again"},
		{MonitorCertificate, MonitorCertificateEnded, kernel.ImpactMinor,
			"Shop has a certificate that does not expire soon"},
		{MonitorWarning, MonitorWarningEnded, kernel.ImpactMinor, "Shop has no warning any more"},
		{MaintenanceBegun, "", kernel.ImpactNone, "Shop has begun"},
		{MaintenanceEnded, "", kernel.ImpactNone, "Shop has ended"},
		{ServiceGap, "", kernel.ImpactMajor, "Shop was interrupted"},
		{ChecksLate, ChecksLateEnded, kernel.ImpactMajor, "Shop are on time again"},
		{DeliveryFailed, "", kernel.ImpactMinor, "Shop is not notified any more"},
		{ChannelFailed, "", kernel.ImpactMajor, "Shop does not accept alerts"},
	}
	if len(want) != len(Events) {
		t.Fatalf("there are %d events in the table", len(Events))
	}
	for i, w := range want {
		a := Alert{Subject: Subject{Name: "Shop", Event: w.event}}
		title := a.Title()
		if Events[i] != w.event || w.event.Lasts() != (w.end != "") ||
			w.event.Severity(kernel.ImpactCritical) != w.severity || a.Outcome() != title {
			t.Errorf("%s: %s, severity %s, %q of an open alert", w.event, Events[i],
				w.event.Severity(kernel.ImpactCritical), a.Outcome())
		}
		if w.end != "" && w.end.Ends() != w.event {
			t.Errorf("Ends of %s = %q", w.end, w.end.Ends())
		}
		a.ResolvedAt = t0
		if got := a.Outcome(); got != w.over {
			t.Errorf("Outcome of an ended %s = %q", w.event, got)
		}
		if a.EndReason = "the monitor was deleted"; w.end != "" {
			title = "Alert for Shop resolved"
		}
		if got := a.Outcome(); got != title {
			t.Errorf("%s with a reason for its end: %q", w.event, got)
		}
	}
	if ChannelTest.Lasts() || ChannelTest.Words() != "is a test" || MonitorDown.Severity("") != kernel.ImpactNone ||
		MonitorWarning.Ends() != "" {
		t.Error("the words of a test, or the severity of a monitor without one")
	}
}

// TestStates holds the state of an alert, its progress at its beginning, and why its rule waits.
func TestStates(t *testing.T) {
	later := t0.Add(time.Minute)
	for _, c := range []struct {
		acknowledged, resolved time.Time
		want                   State
	}{{want: Open}, {t0, time.Time{}, Acknowledged}, {time.Time{}, t0, Resolved}, {t0, t0, Resolved}} {
		got := (Alert{
			AcknowledgedAt: c.acknowledged, ResolvedAt: c.resolved,
		}).State()
		if got != c.want || !slices.Contains(States, got) {
			t.Errorf("State = %s, want %s of %v", got, c.want, States)
		}
	}
	a := Alert{ID: "alt_1", OpenedAt: t0}
	for _, c := range []struct {
		delay    time.Duration
		notifyAt time.Time
		due      time.Time
		want     HoldReason
	}{
		{0, t0, t0, ""},
		{time.Second, t0, t0.Add(time.Second), HeldByDelay},
		{0, later, later, HeldByFlapping},
		{time.Minute, later, later, HeldByDelay},
		{2 * time.Minute, later, t0.Add(2 * time.Minute), HeldByDelay},
	} {
		p := Rule{ID: "rul_1", Delay: c.delay}.Begin(a, c.notifyAt)
		got := p.Waits(a)
		if got != c.want ||
			p != (Progress{AlertID: "alt_1", RuleID: "rul_1", DueAt: c.due, Flapping: c.want == HeldByFlapping}) {
			t.Errorf("delay %s, at the earliest at %s: %q, %+v", c.delay, c.notifyAt, got, p)
		}
	}
}

// TestWaits holds how long notices are gathered, and when a channel is tried again.
func TestWaits(t *testing.T) {
	for last, want := range map[time.Duration]time.Duration{
		0: gatherQuiet, time.Second: time.Second + gatherQuiet, gatherLimit - gatherQuiet: gatherLimit,
		gatherLimit: gatherLimit, time.Hour: gatherLimit,
	} {
		if got := Gathered(t0, t0.Add(last)).Sub(t0); got != want {
			t.Errorf("the last notice after %s: sent after %s", last, got)
		}
	}
	for failures, want := range []string{"3s", "3s", "10s", "30s", "1m0s", "3m0s", "10m0s", "10m0s"} {
		if got := RetryAt(failures, 0, 0, t0).Sub(t0); got.String() != want {
			t.Errorf("after %d failures: %s", failures, got)
		}
		wait, err := time.ParseDuration(want)
		if got := RetryAt(failures, 0, 1, t0).Sub(t0); err != nil || got != wait+wait/5 {
			t.Errorf("after %d failures, with all of the jitter: %s", failures, got)
		}
	}
	for least, want := range map[time.Duration]time.Duration{
		time.Second: 3 * time.Second, 20 * time.Minute: 20 * time.Minute, 2 * time.Hour: time.Hour,
	} {
		if got := RetryAt(1, least, 0, t0).Sub(t0); got != want {
			t.Errorf("the service asked for %s: %s", least, got)
		}
	}
}

// TestWordsOfFilters holds what is said of each list, alone and together.
func TestWordsOfFilters(t *testing.T) {
	names := map[string]string{"mon_1": "Backup", "mon_2": "Shop", "page_1": "Acme"}
	all := Filter{
		Events: []Event{MonitorDown}, Pages: []string{"page_1"}, Monitors: []string{"mon_1", "mon_2"},
		Tags: []string{"web"}, Severities: kernel.Impacts[2:],
	}
	for want, f := range map[string]Filter{
		"everything":                                  {},
		"Backup, Shop or something deleted":           {Monitors: []string{"mon_1", "mon_2", "mon_3"}},
		"everything on Acme":                          {Pages: []string{"page_1"}},
		"everything, tagged db or web":                {Tags: []string{"db", "web"}},
		"everything, with the severity critical":      {Severities: kernel.Impacts[3:]},
		"everything, of monitor.down or monitor.late": {Events: []Event{MonitorDown, MonitorLate}},
		"Backup or Shop on Acme, tagged web, with the severity major or critical, of monitor.down": all,
	} {
		if got := f.Words(names); got != want {
			t.Errorf("Words = %q, want %q", got, want)
		}
	}
	subject := Subject{
		Event: MonitorDown, MonitorID: "mon_1", PageID: "page_1", Tags: []string{"db", "web"},
		Severity: kernel.ImpactMajor,
	}
	for want, change := range map[string]func(*Subject){
		"": func(*Subject) {}, "events": func(s *Subject) {
			s.Event = MonitorLate
		}, "pages": func(s *Subject) { s.PageID = "" },
		"monitors": func(s *Subject) {
			s.MonitorID = "mon_3"
		}, "tags": func(s *Subject) {
			s.Tags = s.Tags[:1]
		}, "severities": func(s *Subject) { s.Severity = kernel.ImpactMinor },
	} {
		s := subject
		change(&s)
		if got := all.Differs(s); got != want {
			t.Errorf("differs in %q, want %q", got, want)
		}
	}
}

// TestWordsOfForecasts holds what is said of channels that are notified or not.
func TestWordsOfForecasts(t *testing.T) {
	for want, got := range map[string]string{
		"Phone":                  DescribeChannel("Phone", "", nil),
		"Phone (Ada is on call)": DescribeChannel("Phone", "Ada", nil),
		"Phone (if Phone fails: Mail, then Room)": DescribeChannel(
			"Phone", "", []string{"Mail", "Room"},
		),
		"Phone (Ada is on call; if Phone fails: Mail)": DescribeChannel(
			"Phone", "Ada", []string{"Mail"},
		),
		"Phone (disabled, would not be notified)":                     DescribeDisabled("Phone"),
		"no one is on call, or has a channel":                         WhyNobody(0, 0),
		"the channels are disabled":                                   WhyNobody(2, 0),
		"all of its channels were notified by another rule":           WhyNobody(0, 1),
		"its channels are disabled, or were notified by another rule": WhyNobody(1, 1),
	} {
		if got != want {
			t.Errorf("text of a forecast = %q, want %q", got, want)
		}
	}
}

// TestRecipients holds who is notified: each channel once, and each schedule once.
func TestRecipients(t *testing.T) {
	schedule := func(id, name string, channels ...string) OnCall {
		return OnCall{
			ID: id, Zone: "UTC", HandOverDay: "mon", StartsOn: t0, Participants: []Participant{{name, channels}},
		}
	}
	schedules := []OnCall{
		schedule("onc_1", "Ann", "chn_1", "chn_2"), schedule("onc_2", "Bob", "chn_3"),
		{ID: "onc_3", Zone: "UTC", HandOverDay: "mon"},
	}
	targets := []Target{
		{ChannelIDs: []string{"chn_1"}, OnCallIDs: []string{"onc_1", "onc_3"}},
		{ChannelIDs: []string{"chn_1", "chn_4"}, OnCallIDs: []string{"onc_1"}},
	}
	want := []Recipient{{ChannelID: "chn_1"}, {"chn_2", "onc_1", "Ann"}, {ChannelID: "chn_4"}}
	if got := Recipients(targets, schedules, t0); !slices.Equal(got, want) {
		t.Errorf("Recipients = %+v", got)
	}
	r := Rule{
		Target: targets[0], QuietHours: &QuietHours{Target: Target{OnCallIDs: []string{"onc_2"}}},
		Escalation: []Step{{time.Hour, targets[1]}},
	}
	if got := r.Targets(); !reflect.DeepEqual(got, []Target{targets[0], r.QuietHours.Target, targets[1]}) {
		t.Errorf("Targets = %+v", got)
	}
	enabled := map[string]bool{"chn_2": true}
	if got := schedules[0].Problems(enabled); got != nil {
		t.Errorf("of a participant with one channel that is enabled: %q", got)
	}
	for i, want := range map[int]string{1: "Bob has no channel that is enabled", 2: "there are no participants"} {
		if got := schedules[i].Problems(enabled); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("Problems = %q, want %q", got, want)
		}
	}
}

// TestSecretsOfChannels holds which fields are secrets, what is shown of them, and which of them are missing.
func TestSecretsOfChannels(t *testing.T) {
	for kind, name := range LateSecrets {
		config := json.RawMessage(`{"` + name + `":"https://a.example/","x":1}`)
		shown, plain := SplitConfig(kind, config)
		if string(shown) != `{"x":1}` || len(plain) != 1 || string(plain[name]) != `"https://a.example/"` {
			t.Errorf("SplitConfig of %s = %s and %s", kind, shown, plain)
		}
		for _, same := range []string{`{"x":1}`, `[]`} {
			if shown, plain := SplitConfig(kind, json.RawMessage(same)); string(shown) != same || plain != nil {
				t.Errorf("%s, nothing to split: %s and %s", kind, shown, plain)
			}
		}
		if shown, plain := SplitConfig("email", config); string(shown) != string(config) || plain != nil {
			t.Errorf("of another type: %s and %s", shown, plain)
		}
	}
	for secret, want := range map[string]string{
		`" https://Hooks.Example:8443/a "`: "hooks.example:8443", `"https://a.example/b"`: "a.example", `"%"`: "",
		`7`: "",
	} {
		if got := URLHost(map[string]json.RawMessage{"url": json.RawMessage(secret)}); got != want {
			t.Errorf("URLHost(%s) = %q", secret, got)
		}
	}
	c := Channel{
		SecretFields: []string{"token", "url"}, Secrets: map[string]json.RawMessage{"token": json.RawMessage(`"a"`)},
	}
	checkRefusal(t, "a channel without a secret", c.HasSecrets(), "url", "cannot be decrypted")
	c.Secrets["url"] = json.RawMessage(`"b"`)
	checkRefusal(t, "a channel with all secrets", c.HasSecrets(), "url", "")
}

// TestAuditOfChanges changes each field of each object of the area, and wants the audit log to record another value.
func TestAuditOfChanges(t *testing.T) {
	type audited interface{ AuditObject() kernel.AuditObject }
	for _, object := range []struct {
		value   audited
		kind    kernel.ObjectKind
		ignored []string // not settings, or seen in a field of another name
	}{
		{&Alert{}, kernel.ObjectAlert,
			[]string{"WorkspaceID", "Key", "OpenedAt", "AcknowledgedAt", "ResolvedAt", "EndReason",
				"Event", "MonitorID", "MonitorSlug", "PageID", "PageSlug", "Severity", "Tags", "Reason"}},
	} {
		before := object.value.AuditObject()
		if before.Kind != object.kind {
			t.Errorf("%T is of the kind %q", object.value, before.Kind)
		}
		changeFields(reflect.ValueOf(object.value).Elem(), func(field string) {
			same := reflect.DeepEqual(object.value.AuditObject(), before)
			if same != slices.Contains(object.ignored, field) {
				t.Errorf("%s of %T: the audit log does not see the change: %v", field, object.value, same)
			}
		})
	}
}

// TestNamesInTheAudit holds by which name the audit log calls each object.
func TestNamesInTheAudit(t *testing.T) {
	for want, object := range map[string]interface{ AuditObject() kernel.AuditObject }{
		"alert": Alert{ID: "1", Subject: Subject{Name: "alert"}},
	} {
		if got := object.AuditObject(); got.Name != want || got.ID != "1" {
			t.Errorf("AuditObject = %+v, want the name %q", got, want)
		}
	}
	for want, silence := range map[string]Silence{
		"a comment of two lines": {Comment: "a comment\nof two lines"}, "until 2026-03-01T12:00:00.000Z": {EndsAt: t0},
		strings.Repeat("a", 79) + "…": {Comment: strings.Repeat("a", 81)},
	} {
		if got := silence.Title(); got != want {
			t.Errorf("the title of a silence is %q, want %q", got, want)
		}
	}
	h := (Health{Reason: "refused"})
	if !h.TestFailed() || (Health{}).TestFailed() || (Health{Reason: "refused", FailingSince: t0}).TestFailed() {
		t.Error("a test failed if there is a reason, and the channel is not failing")
	}
}

// changeFields gives each field another value, calls f, and restores the field. Embedded structs are walked.
func changeFields(v reflect.Value, f func(field string)) {
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		old := reflect.New(field.Type()).Elem()
		old.Set(field)
		switch value := field.Addr().Interface().(type) {
		case *time.Time:
			*value = value.AddDate(0, 0, 1)
		case *json.RawMessage:
			*value = json.RawMessage(`{"to":"b@example.com"}`)
		case *time.Duration:
			*value += time.Second
		default:
			switch field.Kind() {
			case reflect.String:
				field.SetString(field.String() + "x")
			case reflect.Bool:
				field.SetBool(!field.Bool())
			case reflect.Int:
				field.SetInt(field.Int() + 1)
			case reflect.Slice:
				field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			case reflect.Pointer:
				field.Set(reflect.New(field.Type().Elem()))
			case reflect.Map:
				field.Set(reflect.MakeMap(field.Type()))
			case reflect.Struct:
				if v.Type().Field(i).Anonymous {
					changeFields(field, f)
					continue
				}
				changeFields(field, func(string) { f(name) })
				continue
			}
		}
		f(name)
		field.Set(old)
	}
}
