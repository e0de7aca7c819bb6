package server

import (
	"context"
	"strings"

	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
)

// SMSSettings are the settings of SMS to subscribers, as text.
type SMSSettings struct {
	SMSChannel string `name:"sms-channel" env:"ALLSWELL_SMS_CHANNEL" placeholder:"CHANNEL" help:"Id or name of an alert channel of type twilio or sms, through which subscribers of its workspace's pages get SMS. Empty: no SMS."`

	SMSCountries string `name:"sms-countries" env:"ALLSWELL_SMS_COUNTRIES" placeholder:"CODES" help:"Country calling codes of the phone numbers that visitors can subscribe, such as 49,43,41. Empty: all."`

	SMSDailyLimit string `name:"sms-daily-limit" env:"ALLSWELL_SMS_DAILY_LIMIT" default:"1000" placeholder:"COUNT" help:"Maximum number of SMS to subscribers per UTC day, for all replicas together. Further ones wait. 0: no limit."`

	SMSSignUpLimit string `name:"sms-signup-limit" env:"ALLSWELL_SMS_SIGNUP_LIMIT" default:"200" placeholder:"COUNT" help:"Maximum number of sign-ups by SMS per UTC day, for all replicas together. 0: no limit."`
}

func (s *SMSSettings) parse(p *settings.Parser) store.SMSOptions {
	return store.SMSOptions{
		Channel:     strings.TrimSpace(s.SMSChannel),
		Countries:   settings.Parse(p, &s.SMSCountries, settings.CallingCodes),
		DailyLimit:  settings.Parse(p, &s.SMSDailyLimit, settings.Integer(0, maxRate)),
		SignUpLimit: settings.Parse(p, &s.SMSSignUpLimit, settings.Integer(0, maxRate)),
	}
}

// warnOfSMS logs why the SMS gateway cannot be used. The server starts anyway, because the channel can only be created
// or corrected while it runs.
func (s *Server) warnOfSMS(ctx context.Context) error {
	if s.cfg.SMS.Channel == "" {
		return nil
	}
	gateway, err := s.store.SMSGateway(ctx)
	if err == nil && gateway.Problem != "" {
		s.log.Warn("SMS cannot be sent to subscribers, and pages do not offer SMS", "reason", gateway.Problem)
	}
	return err
}
