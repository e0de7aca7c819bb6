package server

import (
	"log/slog"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/settings"
)

//go:generate go test -run ^TestSettingsTable$ . -update

// Settings are the settings of `allswell serve` as text; Parse returns their values. An empty setting has its default.
// The tags are described in package settings. The help texts are the manual: the help of the command line and the
// table in docs/settings.md are generated from them.
type Settings struct {
	settings.FileSetting `embed:""`

	Listen string `env:"ALLSWELL_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on. The default accepts connections from this machine only, such as those of a reverse proxy. Without a host (:8080): all addresses of this machine. Port 0: any free port. With TLS, the default is :443."`

	settings.DatabaseSetting `embed:""`

	BaseURL string `name:"base-url" env:"ALLSWELL_BASE_URL" placeholder:"URL" help:"Public URL of this service, such as https://status.example.com. Ping URLs and links begin with it. Empty: ping URLs begin with the Host header of the request, links in pages, feeds and mails with the address of --listen."`

	TLS string `name:"tls" env:"ALLSWELL_TLS" default:"off" placeholder:"off|auto" help:"auto: serve HTTPS on --listen, with certificates for the host of ALLSWELL_BASE_URL and for pages' verified domains, from a certificate authority by ACME. This accepts its terms of service. off: HTTP, unless ALLSWELL_TLS_CERT is set."`

	TLSEmail string `name:"tls-email" env:"ALLSWELL_TLS_EMAIL" placeholder:"ADDRESS" help:"E-mail address for the account with the certificate authority. Empty: none."`

	TLSCert string `name:"tls-cert" env:"ALLSWELL_TLS_CERT" placeholder:"PATH" help:"Serve HTTPS on --listen with the certificate chain in this PEM file. It is read again when it changes."`

	TLSKey string `name:"tls-key" env:"ALLSWELL_TLS_KEY" placeholder:"PATH" help:"PEM file with the private key of ALLSWELL_TLS_CERT."`

	RedirectListen string `env:"ALLSWELL_REDIRECT_LISTEN" default:":80" placeholder:"HOST:PORT|off" help:"With TLS: address to listen on for HTTP, which answers the certificate authority, redirects to HTTPS, and accepts pings. off: none."`

	ACMEDirectory string `name:"acme-directory" env:"ALLSWELL_ACME_DIRECTORY" placeholder:"URL" help:"URL of the ACME directory of the certificate authority. Empty: Let's Encrypt."`

	ACMECA string `name:"acme-ca" env:"ALLSWELL_ACME_CA" placeholder:"PATH" help:"PEM file with the root certificates that the ACME directory is trusted with, such as those of an internal certificate authority. Empty: those of the system."`

	OwnHosts string `env:"ALLSWELL_OWN_HOSTS" placeholder:"HOSTS" help:"Other host names of this installation, separated by commas. Like the host of ALLSWELL_BASE_URL, they cannot be a page's own domain."`

	DNSServer string `name:"dns-server" env:"ALLSWELL_DNS_SERVER" placeholder:"HOST:PORT" help:"DNS server for the TXT records that verify pages' domains. Empty: the servers of the system."`

	BootstrapToken string `env:"ALLSWELL_BOOTSTRAP_TOKEN" secret:"" placeholder:"SECRET" help:"Admin token of the first workspace, for automated provisioning: 32 or more printable ASCII characters without spaces. A new value revokes the previous one. Empty: the first start creates a token and prints it."`

	CheckInterval string `env:"ALLSWELL_CHECK_INTERVAL" default:"1m" placeholder:"DURATION" help:"How often all monitors are checked, from 1s to 1h in whole seconds. It must be the same on all replicas."`

	FailureThreshold string `env:"ALLSWELL_FAILURE_THRESHOLD" default:"3" placeholder:"COUNT" help:"Number of consecutive checks that must find a monitor overdue before it is down, from 1 to 1000. A monitor may override it."`

	PingRateLimit string `env:"ALLSWELL_PING_RATE_LIMIT" default:"60" placeholder:"COUNT" help:"Maximum number of pings per client address in any minute, from 1 to 1000000. 0: no limit."`

	APIRateLimit string `name:"api-rate-limit" env:"ALLSWELL_API_RATE_LIMIT" default:"600" placeholder:"COUNT" help:"Maximum number of API requests per token in any minute, from 1 to 1000000. 0: no limit, and none for failed authentications, which are otherwise limited to 100 per minute and client address."`

	SignUpLimit string `name:"signup-limit" env:"ALLSWELL_SIGNUP_LIMIT" default:"1000" placeholder:"COUNT" help:"Maximum number of sign-ups by e-mail in any hour, of all visitors together, from 1 to 1000000. Each sends a mail. 0: no limit."`

	PageIndex string `name:"page-index" env:"ALLSWELL_PAGE_INDEX" default:"off" placeholder:"on|off" help:"Whether / lists all public pages if there are several, on or off. Off: / is the home page, which is the first public page unless another is set."`

	SecurityContact string `env:"ALLSWELL_SECURITY_CONTACT" placeholder:"ADDRESS" help:"Contact for reports of vulnerabilities, at /.well-known/security.txt: a mail address or an https:// URL. Empty: there is no such file."`

	TrustedProxies string `env:"ALLSWELL_TRUSTED_PROXIES" placeholder:"NETWORKS" help:"Reverse proxies trusted to report the client's address: addresses or networks, separated by commas. Empty: none."`

	ClientIPHeader string `name:"client-ip-header" env:"ALLSWELL_CLIENT_IP_HEADER" default:"X-Forwarded-For" placeholder:"HEADER" help:"Request header in which trusted proxies report the client's address: X-Forwarded-For, Forwarded, X-Real-IP, CF-Connecting-IP, True-Client-IP, Fastly-Client-IP or Fly-Client-IP. The proxies must set it on every request."`

	PingExempt string `env:"ALLSWELL_PING_EXEMPT" placeholder:"NETWORKS" help:"Clients whose pings are not limited: addresses or networks, separated by commas. Requests with contradictory forwarding headers are always limited."`

	MaxConnections string `env:"ALLSWELL_MAX_CONNECTIONS" default:"0" placeholder:"COUNT" help:"Maximum number of open connections, from 16 to 1000000. 0: as many as the limit of open files allows, at most 65536."`

	MaxConnectionsPerAddress string `env:"ALLSWELL_MAX_CONNECTIONS_PER_ADDRESS" default:"0" placeholder:"COUNT" help:"Maximum number of open connections per client address, from 16 to 1000000. Trusted proxies are not limited. 0: a quarter of ALLSWELL_MAX_CONNECTIONS, between 32 and 1024."`

	MemoryLimit string `env:"ALLSWELL_MEMORY_LIMIT" placeholder:"SIZE" help:"Soft limit of the process's memory, such as 512MiB or 2GiB, at least 64MiB. Empty: 90 % of the memory of its control group or this machine."`

	MetricsListen string `env:"ALLSWELL_METRICS_LISTEN" placeholder:"HOST:PORT" help:"Additional address to listen on for /metrics, without authentication. Empty: /metrics is served only on the main address, and needs a read token."`

	SMTPURL string `name:"smtp-url" env:"ALLSWELL_SMTP_URL" secret:"" placeholder:"URL" help:"Mail server: smtp://user:password@host:587 or smtps://user:password@host:465. smtp:// uses STARTTLS if the server offers it, and requires it to send a password to another machine. Empty: no mail is sent, and nobody can subscribe by mail."`

	MailFrom string `env:"ALLSWELL_MAIL_FROM" placeholder:"ADDRESS" help:"Sender of mails, such as Example Status <status@example.com>. Required with ALLSWELL_SMTP_URL."`

	WebhookAllowPrivate string `env:"ALLSWELL_WEBHOOK_ALLOW_PRIVATE" default:"off" placeholder:"on|off" help:"Whether webhooks may connect to private addresses and to this machine, on or off. Off: only to public addresses, so that subscribers cannot reach the internal network."`

	WebhookDeny string `env:"ALLSWELL_WEBHOOK_DENY" placeholder:"NETWORKS" help:"Addresses or networks that webhooks must never connect to, separated by commas. For example, the public address of this machine if a router or the cloud translates it."`

	AuditRetention string `env:"ALLSWELL_AUDIT_RETENTION" default:"400d" placeholder:"DURATION" help:"How long the audit log is kept, from 1d to 3650d, in days or hours."`

	LogFormat string `env:"ALLSWELL_LOG_FORMAT" default:"text" placeholder:"text|json" help:"Format of the log on standard error: text or json."`

	LogLevel string `env:"ALLSWELL_LOG_LEVEL" default:"info" placeholder:"LEVEL" help:"Minimum level of log lines: debug, info, warn or error. Requests are logged at info, pings at debug."`
}

// Config holds the values of Settings.
type Config struct {
	File                     string // the configuration file that was read; "": none
	Listen                   string
	Database                 string
	BaseURL                  string // "": the host of each request
	TLS                      TLSConfig
	Hosts                    allswell.Hosts // the installation's own host names
	DNSServer                string         // "": the system's
	BootstrapToken           string
	CheckInterval            time.Duration
	FailureThreshold         int
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
	WebhookAllowPrivate      bool
	WebhookDeny              []netip.Prefix
	AuditRetention           time.Duration
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
		DNSServer:        settings.Parse(p, &s.DNSServer, settings.ServerAddress),
		BootstrapToken:   settings.Parse(p, &s.BootstrapToken, settings.BootstrapToken),
		CheckInterval:    settings.Parse(p, &s.CheckInterval, settings.Seconds(time.Second, time.Hour)),
		FailureThreshold: settings.Parse(p, &s.FailureThreshold, settings.Integer(1, allswell.MaxFailureThreshold)),
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
		WebhookAllowPrivate: settings.Parse(p, &s.WebhookAllowPrivate, settings.Switch),
		WebhookDeny:         settings.Parse(p, &s.WebhookDeny, settings.Networks),
		AuditRetention:      settings.Parse(p, &s.AuditRetention, settings.Days(1, 3650)),
		LogJSON:             settings.Parse(p, &s.LogFormat, settings.OneOf("text", "json")) == "json",
		LogLevel:            settings.Parse(p, &s.LogLevel, settings.LogLevel),
	}
	s.parseTLS(p, &c)
	c.Hosts = ownHosts(c.BaseURL, settings.Parse(p, &s.OwnHosts, settings.HostNames))
	if c.SMTPURL != nil && c.MailFrom == nil {
		p.Refuse(&s.MailFrom, "set when ALLSWELL_SMTP_URL is, such as status@example.com")
	}
	if err := p.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// parseTLS parses the settings of HTTPS, and sets the default address of a server that speaks it.
func (s *Settings) parseTLS(p *settings.Parser, c *Config) {
	c.TLS = TLSConfig{
		Auto: settings.Parse(p, &s.TLS, settings.OneOf("off", "auto")) == "auto", CertFile: strings.TrimSpace(s.TLSCert), KeyFile: strings.TrimSpace(s.TLSKey),
		RedirectListen: settings.Parse(p, &s.RedirectListen, settings.OptionalListenAddress), ACMEDirectory: settings.Parse(p, &s.ACMEDirectory, settings.HTTPURL),
		ACMECA: strings.TrimSpace(s.ACMECA),
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
	case err != nil || base.Scheme != "https" || c.TLS.Auto && (notName == nil || !strings.Contains(base.Hostname(), ".")):
		p.Refuse(&s.BaseURL, "the https:// address of this service when ALLSWELL_TLS or ALLSWELL_TLS_CERT is set, with a public host name, such as https://status.example.com")
	}
	if strings.TrimSpace(s.Listen) == "" {
		c.Listen = ":443"
	}
}

// ownHosts returns the host names of the installation: that of the base URL, and others.
func ownHosts(baseURL string, others []string) allswell.Hosts {
	base := ""
	if u, err := url.Parse(baseURL); err == nil {
		base = u.Host
	}
	if name, ok := settings.ASCIIHost(base); ok { // a name without an ASCII form stays as it is
		base = name
	}
	return allswell.NewHosts(base, others...)
}
