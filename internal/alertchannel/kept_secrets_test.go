package alertchannel

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// movesSecrets are the fields of channels whose change sends secrets elsewhere. A secret URL is one of them, too.
var movesSecrets = map[string][]string{
	"sms": {"to", "url", "method", "encoding", "body"},
	"*":   {"server_url", "url"},
}

// channelValues are values of fields, before and after a change.
var channelValues = map[string][2]string{
	"server_url": {`"https://a.example.com/x"`, `"https://a.example.com/y"`},
	"url":        {`"https://a.example.com/?a={text}"`, `"https://b.example.com/?a={text}"`},
	"to":         {`"+4915112345678"`, `"+4915112345679"`}, "method": {`"POST"`, `"GET"`},
	"encoding": {`"form"`, `"text"`}, "body": {`"{text}"`, `"{text}{secret}"`},
	"format": {`"grafana"`, `"incident_io"`}, "headers": {`{"A":"x"}`, `{"A":"y"}`},
}

// TestEveryFieldOfAChannelThatMovesSecrets changes each field of each type of channels.
func TestEveryFieldOfAChannelThatMovesSecrets(t *testing.T) {
	for _, kind := range Types {
		if kind.Name == commandType.Name || kind.Name == emailType.Name {
			continue // no secrets
		}
		for _, f := range kind.Fields {
			values, ok := channelValues[f.Name]
			if !ok {
				values = [2]string{`"x"`, `"y"`}
				switch f.Kind {
				case configfield.KindInteger:
					values = [2]string{"1", "2"}
				case configfield.KindFlag:
					values = [2]string{"false", "true"}
				}
			}
			before, after := "{}", "{}"
			change := configfield.Change{Kept: []string{"a_secret"}}
			if f.Secret {
				change.Secrets = map[string]json.RawMessage{f.Name: json.RawMessage(values[0])}
				change.Given = map[string]json.RawMessage{f.Name: json.RawMessage(values[1])}
			} else {
				before, after = `{"`+f.Name+`":`+values[0]+`}`, `{"`+f.Name+`":`+values[1]+`}`
			}
			change.Before, change.After = json.RawMessage(before), json.RawMessage(after)
			moves, ok := movesSecrets[kind.Name]
			if !ok {
				moves = movesSecrets["*"]
			}
			if got, want := kind.checkKeptSecrets(change) != nil, slices.Contains(moves, f.Name); got != want {
				t.Errorf("%s: a change of %s asks for the secrets again: %t, want %t", kind.Name, f.Name, got, want)
			}
		}
	}
}

// TestSMSSecretCannotBeSentAsText moves the secret within the query of the same gateway.
func TestSMSSecretCannotBeSentAsText(t *testing.T) {
	change := configfield.Change{
		Before: json.RawMessage(`{"url":"https://sms.example.com/?key={secret}&text={text}"}`),
		After:  json.RawMessage(`{"url":"https://sms.example.com/?text={secret}{text}"}`),
		Kept:   []string{"secret"},
	}
	if smsType.checkKeptSecrets(change) == nil {
		t.Error("the secret can be sent as the text of an SMS")
	}
}

// TestURLsAndTopicsAreSecret checks that every type hides the URL that it posts to, and that what the store takes for a
// secret in channels of earlier versions is one.
func TestURLsAndTopicsAreSecret(t *testing.T) {
	for _, kind := range Types {
		if f, ok := kind.Field("url"); ok && !f.Secret {
			t.Errorf("the URL of %s is shown", kind.Name)
		}
	}
	for name, field := range alert.LateSecrets {
		kind, _ := TypeOf(name)
		if f, ok := kind.Field(field); !ok || !f.Secret {
			t.Errorf("%s has no secret %s", name, field)
		}
	}
	if f, _ := ntfyType.Field("topic"); !f.Secret {
		t.Error("the topic of ntfy is shown")
	}
}

// checkKeptSecrets is configfield.CheckKeptSecrets for a type.
func (t Type) checkKeptSecrets(c configfield.Change) error {
	return configfield.CheckKeptSecrets(func() configfield.Destined { return t.New() }, c)
}
