package server

import (
	"log/slog"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/hostname"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
)

//go:generate go test -run ^TestSettingsList$ . -update

// Settings are the settings of `allswell serve` as text; Parse returns their values. An empty setting has its default.
// The tags are described in package settings. The help texts are the manual: the help of the command line and the
// table in docs/settings.md are generated from them.
type Settings struct {
	settings.FileSetting `embed:""`

	Listen string `env:"ALLSWELL_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on; :8080 is all addresses. With TLS, the default is :443."`

	settings.DatabaseSetting `embed:""`

	BaseURL string `name:"base-url" env:"ALLSWELL_BASE_URL" placeholder:"URL" help:"Public URL at the beginning of ping URLs and links, such as https://status.example.com. Empty: the request's Host header, or --listen."`

	TLS string `name:"tls" env:"ALLSWELL_TLS" default:"off" placeholder:"off|auto" help:"auto: HTTPS with ACME certificates, accepting the terms of the authority. off: HTTP, unless ALLSWELL_TLS_CERT is set."`

	TLSEmail string `name:"tls-email" env:"ALLSWELL_TLS_EMAIL" placeholder:"ADDRESS" help:"Email address for the account with the certificate authority."`

	TLSCert string `name:"tls-cert" env:"ALLSWELL_TLS_CERT" placeholder:"PATH" help:"PEM file with the certificate chain for HTTPS, which is read again when it changes."`

	TLSKey string `name:"tls-key" env:"ALLSWELL_TLS_KEY" placeholder:"PATH" help:"PEM file with the private key of ALLSWELL_TLS_CERT."`

	RedirectListen string `env:"ALLSWELL_REDIRECT_LISTEN" default:":80" placeholder:"HOST:PORT|off" help:"With TLS: HTTP address for redirects, pings and the certificate authority. off: none."`

	ACMEDirectory string `name:"acme-directory" env:"ALLSWELL_ACME_DIRECTORY" placeholder:"URL" help:"ACME directory. Empty: Let's Encrypt."`

	ACMECA string `name:"acme-ca" env:"ALLSWELL_ACME_CA" placeholder:"PATH" help:"PEM file with root certificates for the ACME directory. Empty: the system's."`

	OwnHosts string `env:"ALLSWELL_OWN_HOSTS" placeholder:"HOSTS" help:"Other host names of this installation, which cannot be pages' domains, separated by commas."`

	DNSServer string `name:"dns-server" env:"ALLSWELL_DNS_SERVER" placeholder:"HOST:PORT" help:"DNS server that verifies pages' domains. Empty: the system's."`

	SignInSettings `embed:""`

	BootstrapToken string `env:"ALLSWELL_BOOTSTRAP_TOKEN" secret:"" placeholder:"SECRET" help:"Admin token of the first workspace: 32 or more printable ASCII characters. A new value revokes the previous one. Empty: the first start prints one."`

	settings.SecretKeySetting `embed:""`

	CheckInterval string `env:"ALLSWELL_CHECK_INTERVAL" default:"1m" placeholder:"DURATION" help:"How often Allswell looks for overdue pings (a tick), from 1s to 1h. Checks have intervals of their own."`

	CheckSettings `embed:""`

	HeartbeatURL string `name:"heartbeat-url" env:"ALLSWELL_HEARTBEAT_URL" secret:"" placeholder:"URL" help:"URL of another monitoring service, requested every minute while pings are recorded, checks run and messages are sent. Empty: none."`

	FailureThreshold string `env:"ALLSWELL_FAILURE_THRESHOLD" default:"3" placeholder:"COUNT" help:"Consecutive ticks that find a ping overdue, or consecutive failed checks, after which a monitor is down, from 1 to 1000, unless it has its own threshold."`

	MaxMonitors string `env:"ALLSWELL_MAX_MONITORS" default:"10000" placeholder:"COUNT" help:"Monitors that a workspace can have, from 1 to 10000000."`

	MaxChannels string `env:"ALLSWELL_MAX_CHANNELS" default:"200" placeholder:"COUNT" help:"Alert channels that a workspace can have, from 1 to 1000."`

	PingRateLimit string `env:"ALLSWELL_PING_RATE_LIMIT" default:"60" placeholder:"COUNT" help:"Pings per client address in any minute. 0: no limit."`

	APIRateLimit string `name:"api-rate-limit" env:"ALLSWELL_API_RATE_LIMIT" default:"600" placeholder:"COUNT" help:"API requests per token in any minute. 0: no limit, and none for failed authentications."`

	SignUpLimit string `name:"signup-limit" env:"ALLSWELL_SIGNUP_LIMIT" default:"1000" placeholder:"COUNT" help:"Sign-ups of email addresses and webhooks in any hour, for all visitors together. 0: no limit."`

	PageIndex string `name:"page-index" env:"ALLSWELL_PAGE_INDEX" default:"off" placeholder:"on|off" help:"on: / lists the public pages if there are several. off: / is the home page."`

	SecurityContact string `env:"ALLSWELL_SECURITY_CONTACT" placeholder:"ADDRESS" help:"Mail address or https:// URL for /.well-known/security.txt. Empty: no such file."`

	TrustedProxies string `env:"ALLSWELL_TRUSTED_PROXIES" placeholder:"NETWORKS" help:"Reverse proxies trusted to report the client's address, such as 10.0.0.0/8,192.0.2.1."`

	ClientIPHeader string `name:"client-ip-header" env:"ALLSWELL_CLIENT_IP_HEADER" default:"X-Forwarded-For" placeholder:"HEADER" help:"Header in which trusted proxies report the client's address: X-Forwarded-For, Forwarded, X-Real-IP, CF-Connecting-IP, True-Client-IP, Fastly-Client-IP or Fly-Client-IP."`

	PingExempt string `env:"ALLSWELL_PING_EXEMPT" placeholder:"NETWORKS" help:"Clients whose pings are not limited, such as 10.0.0.0/8,192.0.2.1."`

	MaxConnections string `env:"ALLSWELL_MAX_CONNECTIONS" default:"0" placeholder:"COUNT" help:"Open connections, from 16. 0: as the limit of open files allows."`

	MaxConnectionsPerAddress string `env:"ALLSWELL_MAX_CONNECTIONS_PER_ADDRESS" default:"0" placeholder:"COUNT" help:"Open connections per client address. 0: a quarter of all, between 32 and 1024."`

	MemoryLimit string `env:"ALLSWELL_MEMORY_LIMIT" placeholder:"SIZE" help:"Soft memory limit, such as 512MiB. Empty: 90 % of the control group or the machine."`

	MetricsListen string `env:"ALLSWELL_METRICS_LISTEN" placeholder:"HOST:PORT" help:"Additional address for /metrics, without a token."`

	SMTPURL string `name:"smtp-url" env:"ALLSWELL_SMTP_URL" secret:"" placeholder:"URL" help:"Mail server: smtp://user:password@host:587 or smtps://user:password@host:465. Empty: no mail."`

	MailHello string `name:"mail-helo" env:"ALLSWELL_MAIL_HELO" placeholder:"NAME" help:"Name of this machine in EHLO, for mails and for checks of mail servers. By default the host of ALLSWELL_BASE_URL or, if it has no dot, the name or address of this machine."`

	MailFrom string `env:"ALLSWELL_MAIL_FROM" placeholder:"ADDRESS" help:"Sender of mails, such as Example Status <status@example.com>."`

	SMSSettings `embed:""`

	WebhookAllowPrivate string `env:"ALLSWELL_WEBHOOK_ALLOW_PRIVATE" default:"off" placeholder:"on|off" help:"Whether webhooks, chats and channels of alerts may connect to private addresses and this machine. Metadata services of clouds are never reached."`

	WebhookDeny string `env:"ALLSWELL_WEBHOOK_DENY" placeholder:"NETWORKS" help:"Addresses and networks to which webhooks never connect, such as 192.0.2.0/24,198.51.100.1."`

	AlertCommand string `env:"ALLSWELL_ALERT_COMMAND" placeholder:"FILE" help:"Program that channels of the type command run, as an absolute path. Empty: none."`

	AuditRetention string `env:"ALLSWELL_AUDIT_RETENTION" default:"400d" placeholder:"DURATION" help:"How long the audit log is kept, from 1d to 3650d."`

	PingRetention string `env:"ALLSWELL_PING_RETENTION" default:"90d" placeholder:"DURATION" help:"How long the history of pings and signals is kept, from 1d to 3650d. 0: signals for 90d, and no plain pings."`

	LogFormat string `env:"ALLSWELL_LOG_FORMAT" default:"text" placeholder:"text|json" help:"Format of the log on standard error: text or json."`

	LogLevel string `env:"ALLSWELL_LOG_LEVEL" default:"info" placeholder:"LEVEL" help:"debug, info, warn or error. Requests are logged at info, pings at debug, both up to 0.1 s late."`
}

// Config holds the values of Settings.
type Config struct {
	File                     string           // the configuration file that was read; "": none
	Values                   []settings.Value // all settings as text, for people; nil: not known
	Listen                   string
	Database                 string
	BaseURL                  string // "": the host of each request
	HeartbeatURL             string // "": none
	TLS                      TLSConfig
	Hosts                    statuspage.Hosts // the installation's own host names
	DNSServer                string           // "": the system's
	BootstrapToken           string
	SecretKeys               *secret.Keys // nil: the file beside a SQLite database, or none
	SecretKeyFile            string       // the file that has SecretKeys; "": none
	SignIn                   SignInConfig
	CheckInterval            time.Duration
	Checks                   CheckConfig
	FailureThreshold         int
	MaxMonitors              int
	MaxChannels              int
	PingRateLimit            int // per minute; 0: no limit
	APIRateLimit             int // per minute; 0: no limit
	SignUpLimit              int // per hour; 0: no limit
	PageIndex                bool
	SecurityContact          string // URI; "": none
	TrustedProxies           []netip.Prefix
	ClientIPHeader           string // one of clientaddr.Headers
	PingExempt               []netip.Prefix
	MaxConnections           int    // 0: derived from the limit of open files
	MaxConnectionsPerAddress int    // 0: derived from MaxConnections
	MemoryLimit              int64  // bytes; 0: derived from the machine
	MetricsListen            string // "": none
	SMTPURL                  *url.URL
	MailFrom                 *mail.Address
	MailHello                string // "": the name or address of this machine
	SMS                      store.SMSOptions
	WebhookAllowPrivate      bool
	WebhookDeny              []netip.Prefix
	AlertCommand             string // "": none
	AuditRetention           time.Duration
	PingRetention            time.Duration // 0: no history of plain pings
	LogJSON                  bool
	LogLevel                 slog.Level
}

// TLSConfig holds the settings of HTTPS.
type TLSConfig struct {
	Auto              bool // certificates by ACME
	Email             string
	CertFile, KeyFile string // "": none
	RedirectListen    string // "": none
	ACMEDirectory     string // "": Let's Encrypt
	ACMECA            string // file; "": the roots of the system
}

// Enabled reports whether the server speaks TLS.
func (c TLSConfig) Enabled() bool { return c.Auto || c.CertFile != "" }

// maxRate is the largest limit of events per minute or hour.
const maxRate = 1_000_000

// Parse returns the values of all settings. The error is the first *settings.Error.
func (s Settings) Parse() (Config, error) {
	p := settings.NewParser(&s)
	c := Config{
		File:             strings.TrimSpace(s.Config),
		Listen:           settings.Parse(p, &s.Listen, settings.ListenAddress),
		Database:         settings.Parse(p, &s.Database, settings.Database),
		BaseURL:          settings.Parse(p, &s.BaseURL, settings.BaseURL),
		HeartbeatURL:     settings.Parse(p, &s.HeartbeatURL, settings.HTTPURL),
		DNSServer:        settings.Parse(p, &s.DNSServer, settings.ServerAddress),
		BootstrapToken:   settings.Parse(p, &s.BootstrapToken, settings.BootstrapToken),
		SecretKeys:       s.ParseSecretKey(p),
		SecretKeyFile:    s.SecretKeyFile,
		CheckInterval:    settings.Parse(p, &s.CheckInterval, settings.Seconds(time.Second, time.Hour)),
		FailureThreshold: settings.Parse(p, &s.FailureThreshold, settings.Integer(1, monitor.MaxFailureThreshold)),
		MaxMonitors:      settings.Parse(p, &s.MaxMonitors, settings.Integer(1, monitor.MaxMonitors)),
		MaxChannels:      settings.Parse(p, &s.MaxChannels, settings.Integer(1, alert.MaxChannels)),
		PingRateLimit:    settings.Parse(p, &s.PingRateLimit, settings.Integer(0, maxRate)),
		APIRateLimit:     settings.Parse(p, &s.APIRateLimit, settings.Integer(0, maxRate)),
		SignUpLimit:      settings.Parse(p, &s.SignUpLimit, settings.Integer(0, maxRate)),
		PageIndex:        settings.Parse(p, &s.PageIndex, settings.Switch),
		SecurityContact:  settings.Parse(p, &s.SecurityContact, settings.Contact),
		TrustedProxies:   settings.Parse(p, &s.TrustedProxies, settings.Networks),
		ClientIPHeader:   settings.Parse(p, &s.ClientIPHeader, settings.ClientIPHeader),
		PingExempt:       settings.Parse(p, &s.PingExempt, settings.Networks),
		MaxConnections:   settings.Parse(p, &s.MaxConnections, settings.ZeroOrInteger(minConnections, maxConnections)),
		MaxConnectionsPerAddress: settings.Parse(p, &s.MaxConnectionsPerAddress,
			settings.ZeroOrInteger(minConnections, maxConnections)),
		MemoryLimit:         settings.Parse(p, &s.MemoryLimit, settings.Size),
		MetricsListen:       settings.Parse(p, &s.MetricsListen, settings.ListenAddress),
		SMTPURL:             settings.Parse(p, &s.SMTPURL, settings.MailServer),
		MailFrom:            settings.Parse(p, &s.MailFrom, settings.MailAddress),
		MailHello:           settings.Parse(p, &s.MailHello, settings.HelloName),
		WebhookAllowPrivate: settings.Parse(p, &s.WebhookAllowPrivate, settings.Switch),
		WebhookDeny:         settings.Parse(p, &s.WebhookDeny, settings.Networks),
		AlertCommand:        settings.Parse(p, &s.AlertCommand, settings.AbsolutePath),
		AuditRetention:      settings.Parse(p, &s.AuditRetention, settings.Days(1, 3650)),
		PingRetention:       settings.Parse(p, &s.PingRetention, settings.ZeroOrDays(1, 3650)),
		LogJSON:             settings.Parse(p, &s.LogFormat, settings.OneOf("text", "json")) == "json",
		LogLevel:            settings.Parse(p, &s.LogLevel, settings.LogLevel),
	}
	s.parseTLS(p, &c)
	c.Checks, c.SMS = s.CheckSettings.parse(p), s.SMSSettings.parse(p)
	c.SignIn = s.SignInSettings.parse(p, c.BaseURL, len(c.TrustedProxies) > 0)
	c.MailHello = helloName(c.MailHello, c.BaseURL)
	c.Hosts = ownHosts(c.BaseURL, settings.Parse(p, &s.OwnHosts, settings.HostNames))
	if c.SMTPURL != nil && c.MailFrom == nil {
		p.Refuse(&s.MailFrom, "set when ALLSWELL_SMTP_URL is, such as status@example.com")
	}
	if err := p.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// parseTLS parses the settings of HTTPS. With TLS it changes the default of Listen.
func (s *Settings) parseTLS(p *settings.Parser, c *Config) {
	c.TLS = TLSConfig{
		Auto:     settings.Parse(p, &s.TLS, settings.OneOf("off", "auto")) == "auto",
		CertFile: strings.TrimSpace(s.TLSCert), KeyFile: strings.TrimSpace(s.TLSKey),
		RedirectListen: settings.Parse(p, &s.RedirectListen, settings.OptionalListenAddress),
		ACMEDirectory:  settings.Parse(p, &s.ACMEDirectory, settings.HTTPURL),
		ACMECA:         strings.TrimSpace(s.ACMECA),
	}
	if address := settings.Parse(p, &s.TLSEmail, settings.MailAddress); address != nil {
		c.TLS.Email = address.Address
	}
	base, err := url.Parse(c.BaseURL)
	_, notName := netip.ParseAddr(base.Hostname())
	switch {
	case (c.TLS.CertFile == "") != (c.TLS.KeyFile == ""):
		p.Refuse(&s.TLSKey, "set together with ALLSWELL_TLS_CERT")
	case c.TLS.Auto && c.TLS.CertFile != "":
		p.Refuse(&s.TLS, "off when ALLSWELL_TLS_CERT is set")
	case !c.TLS.Enabled():
		c.TLS = TLSConfig{}
		return
	case err != nil || base.Scheme != "https" ||
		c.TLS.Auto && (notName == nil || !strings.Contains(base.Hostname(), ".")):
		p.Refuse(&s.BaseURL,
			"the https:// address of this service when ALLSWELL_TLS or ALLSWELL_TLS_CERT is set, with a public host "+
				"name, such as https://status.example.com")
	}
	if strings.TrimSpace(s.Listen) == "" {
		c.Listen = ":443"
	}
}

// helloName returns the name of this machine for EHLO: the configured one, or else the host of the base URL.
func helloName(configured, baseURL string) string {
	base := ""
	if u, err := url.Parse(baseURL); err == nil {
		base = u.Hostname()
	}
	return strings.ToLower(hostname.Hello(configured, base))
}

// ownHosts returns the host names of the installation: the host of the base URL, and others.
func ownHosts(baseURL string, others []string) statuspage.Hosts {
	base := ""
	if u, err := url.Parse(baseURL); err == nil {
		base = u.Host
	}
	if name, ok := settings.ASCIIHost(base); ok { // a name without an ASCII form is not changed
		base = name
	}
	return statuspage.NewHosts(base, others...)
}
