package alertchannel

import (
	"context"
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// twilioType sends an SMS, as described at
// https://www.twilio.com/docs/messaging/api/message-resource#create-a-message-resource.
var twilioType = Type{
	Name: "twilio", Label: "Twilio SMS", Help: "SMS to one number, via Twilio.",
	Fields: []configfield.Field{
		{
			Name: "account_sid", Label: "Account SID", Help: "SID of the account, which begins with AC.",
			Kind: configfield.KindText, Required: true, Max: 34, Example: "AC0123456789abcdef0123456789abcdef",
		},
		secretField("auth_token", "Auth token", "Auth token of the account."),
		{
			Name: "from", Label: "From",
			Help: "A number of the account, or the SID of a messaging service, which begins with MG.",
			Kind: configfield.KindText, Required: true, Max: 34, Example: "+15005550006",
		},
		phoneField,
		serverField("https://api.twilio.com", "URL of the API."),
	},
	New: func() Channel { return &twilio{Server: "https://api.twilio.com"} },
}

// phoneField is the field of the number that receives the SMS.
var phoneField = configfield.Field{
	Name: "to", Label: "To", Help: "A telephone number with its country code.", Kind: configfield.KindText,
	Required: true, Max: 254, Example: "+4915112345678",
}

// smsText is the maximum length of an alert by SMS in characters. A gateway sends it in several parts.
const smsText = 480

var (
	phoneNumber = regexp.MustCompile(`^\+[1-9][0-9]{4,14}$`)
	twilioSID   = regexp.MustCompile(`^AC[0-9a-f]{32}$`)
	twilioFrom  = regexp.MustCompile(`^(MG[0-9a-f]{32}|\+?[0-9]{3,15}|[A-Za-z0-9 ]{1,11})$`)
)

type twilio struct {
	AccountSID string `json:"account_sid"`
	AuthToken  string `json:"auth_token,omitzero"`
	From       string `json:"from"`
	To         string `json:"to"`
	Server     string `json:"server_url"`
}

// Destination returns the server.
func (c *twilio) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *twilio) Validate(bad *kernel.ValidationError) {
	checkServer(bad, &c.Server)
	checkPhone(bad, &c.To)
	if !twilioSID.MatchString(c.AccountSID) {
		bad.Add("account_sid", "must be AC and 32 hexadecimal digits")
	}
	if !twilioFrom.MatchString(c.From) {
		bad.Add("from", "must be a telephone number, a name of up to 11 characters or the SID of a messaging service")
	}
}

// checkPhone removes spaces and punctuation from a phone number, and adds an error to bad if it is not valid.
func checkPhone(bad *kernel.ValidationError, to *string) {
	*to = strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", "/", "").Replace(*to)
	if !phoneNumber.MatchString(*to) {
		bad.Add("to", "must be a telephone number with its country code, such as +4915112345678")
	}
}

func (c *twilio) host() string { return hostOf(c.Server) }

func (c *twilio) send(ctx context.Context, s *Sender, m alert.Message) Result {
	a, bad := c.text(ctx, s, c.To, plainText(m, smsText, nil))
	if bad != nil {
		return *bad
	}
	return a.outcome("Twilio")
}

// text sends an SMS to a number: see smsGateway.
func (c *twilio) text(ctx context.Context, s *Sender, to, text string) (answer, *Result) {
	form := url.Values{"To": {to}, "Body": {text}}
	if strings.HasPrefix(c.From, "MG") && len(c.From) == 34 {
		form.Set("MessagingServiceSid", c.From)
	} else {
		form.Set("From", c.From)
	}
	return s.call(ctx, request{
		url: c.Server + "/2010-04-01/Accounts/" + c.AccountSID + "/Messages.json", body: form, name: "Twilio",
		header: map[string]string{
			"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(c.AccountSID+":"+c.AuthToken)),
		},
	})
}
