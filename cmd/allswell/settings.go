package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/allswell/allswell"
)

//go:generate go test -run ^TestManual$ . -update

// Settings are all that an operator can set, by flag or environment variable;
// an empty value is the default. The texts beside them are the manual: the help
// of the command line and the table in docs/operating.md are made from them.
// They are kept as they were typed; parse makes a config of them.
type Settings struct {
	Listen string `env:"ALLSWELL_LISTEN" default:":8080" placeholder:"HOST:PORT" help:"Address that HTTP is served on. Without a host it is all addresses of this machine; port 0 takes a free port."`

	DatabaseSetting `embed:""`

	BaseURL string `name:"base-url" env:"ALLSWELL_BASE_URL" placeholder:"URL" help:"Address under which the world reaches this service, such as https://status.example.com. Ping URLs and links begin with it. Empty: the host that each request names."`

	OwnHosts string `env:"ALLSWELL_OWN_HOSTS" placeholder:"HOSTS" help:"Other host names of this installation, separated by commas. Like that of ALLSWELL_BASE_URL they cannot be a page's own domain."`

	DNSServer string `name:"dns-server" env:"ALLSWELL_DNS_SERVER" placeholder:"HOST:PORT" help:"DNS server that is asked for the TXT records that prove pages' domains. Empty: the servers of the system."`

	BootstrapToken string `env:"ALLSWELL_BOOTSTRAP_TOKEN" secret:"" placeholder:"SECRET" help:"Becomes an admin token of the first workspace: 32 or more printable ASCII characters without spaces. For automated provisioning. A new value revokes the earlier one. Empty: the first start makes a token and prints it."`

	CheckInterval string `env:"ALLSWELL_CHECK_INTERVAL" default:"1m" placeholder:"DURATION" help:"How often all monitors are checked, from 1s to 1h in whole seconds. The same on all replicas."`

	FailureThreshold string `env:"ALLSWELL_FAILURE_THRESHOLD" default:"3" placeholder:"COUNT" help:"How many checks in a row have to find a monitor overdue before it is down, from 1 to 1000. A monitor may have its own."`

	PingRateLimit string `env:"ALLSWELL_PING_RATE_LIMIT" default:"60" placeholder:"COUNT" help:"How many pings one address may send in any minute, from 1 to 1000000. 0: no limit."`

	APIRateLimit string `name:"api-rate-limit" env:"ALLSWELL_API_RATE_LIMIT" default:"600" placeholder:"COUNT" help:"How many API requests one token may make in any minute, from 1 to 1000000. 0: no limit, also for failed authentications, which are limited to 100 a minute and address otherwise."`

	SignUpLimit string `name:"signup-limit" env:"ALLSWELL_SIGNUP_LIMIT" default:"1000" placeholder:"COUNT" help:"How many sign-ups by e-mail are accepted in any hour, of all visitors together, from 1 to 1000000. Each sends a mail. 0: no limit."`

	TrustedProxies string `env:"ALLSWELL_TRUSTED_PROXIES" placeholder:"NETWORKS" help:"Reverse proxies trusted to report the client's address: addresses or networks, separated by commas. Empty: none."`

	ClientIPHeader string `name:"client-ip-header" env:"ALLSWELL_CLIENT_IP_HEADER" default:"X-Forwarded-For" placeholder:"HEADER" help:"Request header in which trusted proxies report the client's address: X-Forwarded-For, Forwarded, X-Real-IP, CF-Connecting-IP, True-Client-IP, Fastly-Client-IP or Fly-Client-IP. The proxies must set it on every request."`

	PingExempt string `env:"ALLSWELL_PING_EXEMPT" placeholder:"NETWORKS" help:"Clients whose pings are not limited: addresses or networks, separated by commas. A request whose forwarding headers disagree about the client is always limited."`

	MaxConnections string `env:"ALLSWELL_MAX_CONNECTIONS" default:"0" placeholder:"COUNT" help:"Maximum number of open connections, from 16 to 1000000. 0: what the limit of open files allows, at most 65536."`

	MaxConnectionsPerAddress string `env:"ALLSWELL_MAX_CONNECTIONS_PER_ADDRESS" default:"0" placeholder:"COUNT" help:"Maximum number of open connections of one client address, from 16 to 1000000. Trusted proxies are not limited. 0: a quarter of all, from 32 to 1024."`

	MemoryLimit string `env:"ALLSWELL_MEMORY_LIMIT" placeholder:"SIZE" help:"Memory that the process tries to stay below, such as 512MiB or 2GiB, at least 64MiB. Empty: 90 % of what its control group or this machine has."`

	MetricsListen string `env:"ALLSWELL_METRICS_LISTEN" placeholder:"HOST:PORT" help:"Address that /metrics is served on for everyone who can reach it, without a token. Empty: only on the main address, with a read token."`

	SMTPURL string `name:"smtp-url" env:"ALLSWELL_SMTP_URL" secret:"" placeholder:"URL" help:"Mail server: smtp://user:password@host:587 or smtps://user:password@host:465. smtp:// encrypts if the server offers it, and insists on it where a password is given to another machine. Empty: no mail is sent, and nobody can subscribe by mail."`

	MailFrom string `env:"ALLSWELL_MAIL_FROM" placeholder:"ADDRESS" help:"Sender of mails, such as Example Status <status@example.com>. Needed with ALLSWELL_SMTP_URL."`

	WebhookAllowPrivate string `env:"ALLSWELL_WEBHOOK_ALLOW_PRIVATE" default:"off" placeholder:"on|off" help:"Whether webhooks may go to private addresses of this network and to this machine, on or off. Off: only to public ones, so that no subscriber can reach what only this machine can."`

	WebhookDeny string `env:"ALLSWELL_WEBHOOK_DENY" placeholder:"NETWORKS" help:"Addresses that webhooks may not go to in any case: addresses or networks, separated by commas. For example, the public address of this machine if a router or the cloud translates it."`

	LogFormat string `env:"ALLSWELL_LOG_FORMAT" default:"text" placeholder:"text|json" help:"How log lines are written to standard error: text or json."`

	LogLevel string `env:"ALLSWELL_LOG_LEVEL" default:"info" placeholder:"LEVEL" help:"The least important lines that are logged: debug, info, warn or error. Requests are logged at info, pings at debug."`
}

// DatabaseSetting is the one setting of the commands that work on the database
// itself.
type DatabaseSetting struct {
	Database string `env:"ALLSWELL_DATABASE" secret:"" default:"sqlite:allswell.db" placeholder:"ADDRESS" help:"sqlite:PATH for a file on this machine, or postgres://user:password@host/name for a PostgreSQL database, which several replicas can share."`
}

// config is what the settings say, checked.
type config struct {
	listen                   string
	database                 string
	baseURL                  string // "": what each request names
	hosts                    allswell.Hosts
	dnsServer                string // "": the system's
	bootstrapToken           string
	checkInterval            time.Duration
	failureThreshold         int
	pingRateLimit            int // 0: none
	apiRateLimit             int // 0: none
	signUpLimit              int // 0: none
	trustedProxies           []netip.Prefix
	clientIPHeader           string // the name of one of clientHeaders
	pingExempt               []netip.Prefix
	maxConnections           int    // 0: derived from the limit of open files
	maxConnectionsPerAddress int    // 0: derived from maxConnections
	memoryLimit              int64  // bytes; 0: derived from the machine
	metricsListen            string // "": none
	smtpURL                  *url.URL
	mailFrom                 *mail.Address
	webhookAllowPrivate      bool
	webhookDeny              []netip.Prefix
	logJSON                  bool
	logLevel                 slog.Level
}

// wrongSetting is a setting with a value that it does not take. Its text never
// repeats the value of a secret.
type wrongSetting struct {
	setting setting
	value   string
	takes   string
}

func (e *wrongSetting) Error() string {
	got := ""
	if !e.setting.secret {
		got = fmt.Sprintf(", not %q", e.value)
	}
	return fmt.Sprintf("%s (--%s) must be %s%s.", e.setting.env, e.setting.flag, e.takes, got)
}

// parse checks all settings. The first wrong one is a *wrongSetting.
func (s Settings) parse() (config, error) {
	database, err := s.DatabaseSetting.parse()
	c := config{database: database}
	p := settingsParser{values: settingsOf(s), err: err}
	c.listen = p.address("ALLSWELL_LISTEN")
	c.baseURL = p.baseURL("ALLSWELL_BASE_URL")
	c.hosts = p.hosts("ALLSWELL_OWN_HOSTS", c.baseURL)
	c.dnsServer = p.server("ALLSWELL_DNS_SERVER")
	c.bootstrapToken = p.bootstrapToken("ALLSWELL_BOOTSTRAP_TOKEN")
	c.checkInterval = p.seconds("ALLSWELL_CHECK_INTERVAL", time.Second, time.Hour)
	c.failureThreshold = p.number("ALLSWELL_FAILURE_THRESHOLD", 1, allswell.MaxFailureThreshold)
	c.pingRateLimit = p.number("ALLSWELL_PING_RATE_LIMIT", 0, 1_000_000)
	c.apiRateLimit = p.number("ALLSWELL_API_RATE_LIMIT", 0, 1_000_000)
	c.signUpLimit = p.number("ALLSWELL_SIGNUP_LIMIT", 0, 1_000_000)
	c.trustedProxies = p.networks("ALLSWELL_TRUSTED_PROXIES")
	c.clientIPHeader = p.clientIPHeader("ALLSWELL_CLIENT_IP_HEADER")
	c.pingExempt = p.networks("ALLSWELL_PING_EXEMPT")
	c.maxConnections = p.connections("ALLSWELL_MAX_CONNECTIONS")
	c.maxConnectionsPerAddress = p.connections("ALLSWELL_MAX_CONNECTIONS_PER_ADDRESS")
	c.memoryLimit = p.size("ALLSWELL_MEMORY_LIMIT")
	c.metricsListen = p.address("ALLSWELL_METRICS_LISTEN")
	c.smtpURL = p.mailServer("ALLSWELL_SMTP_URL")
	c.mailFrom = p.mailAddress("ALLSWELL_MAIL_FROM")
	if c.smtpURL != nil && c.mailFrom == nil {
		p.wrong("ALLSWELL_MAIL_FROM", "set when ALLSWELL_SMTP_URL is, such as status@example.com")
	}
	c.webhookAllowPrivate = p.oneOf("ALLSWELL_WEBHOOK_ALLOW_PRIVATE", "on", "off") == "on"
	c.webhookDeny = p.networks("ALLSWELL_WEBHOOK_DENY")
	c.logJSON = p.oneOf("ALLSWELL_LOG_FORMAT", "text", "json") == "json"
	c.logLevel = levels[p.oneOf("ALLSWELL_LOG_LEVEL", "debug", "info", "warn", "error")]
	return c, p.err
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// parse returns the database's address.
func (d DatabaseSetting) parse() (string, error) {
	p := settingsParser{values: settingsOf(d)}
	return p.database("ALLSWELL_DATABASE"), p.err
}

// settingsParser reads values and remembers the first that is wrong.
type settingsParser struct {
	values map[string]givenSetting // by environment variable
	err    error
}

// wrong notes that a setting does not have what it takes.
func (p *settingsParser) wrong(env, takes string) {
	if p.err == nil {
		given := p.values[env]
		p.err = &usageError{&wrongSetting{given.setting, given.value, takes}}
	}
}

func (p *settingsParser) address(env string) string {
	value := p.values[env].value
	if value == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(value)
	n, errPort := strconv.ParseUint(port, 10, 16)
	if err != nil || errPort != nil || strings.ContainsAny(host, "/ \t") {
		p.wrong(env, "HOST:PORT or :PORT, such as 127.0.0.1:8080 or :8080, with a port from 0 to 65535")
		return ""
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10))
}

func (p *settingsParser) baseURL(env string) string {
	value := p.values[env].value
	if value == "" {
		return ""
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		p.wrong(env, "an http:// or https:// address without a path, such as https://status.example.com")
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// hosts returns the names of the installation in ASCII, as browsers send them:
// that of the base URL and those of a list.
func (p *settingsParser) hosts(env, baseURL string) allswell.Hosts {
	base := ""
	if u, err := url.Parse(baseURL); err == nil {
		base = u.Host
	}
	if name, ok := asciiHost(base); ok { // one that has no such form is left as it is
		base = name
	}
	var others []string
	for _, value := range strings.Split(p.values[env].value, ",") {
		name, ok := asciiHost(strings.TrimSpace(value))
		if !ok {
			p.wrong(env, "host names separated by commas, such as status.example.net, localhost")
		}
		others = append(others, name)
	}
	return allswell.NewHosts(base, others...)
}

// asciiHost returns a host name in lower case and ASCII (xn--…), without a port
// and without the dot that may end it. An IPv6 address is in brackets.
func asciiHost(host string) (name string, ok bool) {
	if strings.ContainsAny(host, "/@ ") {
		return host, false
	}
	name = allswell.HostName(host)
	if strings.HasPrefix(name, "[") || name == "" {
		return name, true
	}
	name, err := idna.Lookup.ToASCII(name)
	return name, err == nil
}

// server returns the host and port of a server; "" is none.
func (p *settingsParser) server(env string) string {
	address := p.address(env)
	if host, port, err := net.SplitHostPort(address); err == nil && (host == "" || port == "0") {
		p.wrong(env, "HOST:PORT, such as 192.0.2.53:53")
	}
	return address
}

func (p *settingsParser) bootstrapToken(env string) string {
	value := p.values[env].value
	if value != "" && allswell.CheckBootstrapToken(value) != nil {
		p.wrong(env, fmt.Sprintf("at least %d printable ASCII characters without spaces", allswell.MinBootstrapTokenLength))
	}
	return value
}

func (p *settingsParser) seconds(env string, least, most time.Duration) time.Duration {
	d, err := time.ParseDuration(p.values[env].value)
	if err != nil || d < least || d > most || d%time.Second != 0 {
		p.wrong(env, fmt.Sprintf("a duration in whole seconds from %s to %s, such as 30s or 1m", short(least), short(most)))
	}
	return d
}

func (p *settingsParser) number(env string, least, most int) int {
	n, err := strconv.Atoi(p.values[env].value)
	if err != nil || n < least || n > most {
		p.wrong(env, fmt.Sprintf("a whole number from %d to %d", least, most))
	}
	return n
}

// connections reads a number of connections; 0 is none set.
func (p *settingsParser) connections(env string) int {
	const most = 1_000_000
	n, err := strconv.Atoi(p.values[env].value)
	if err != nil || n != 0 && (n < minConnections || n > most) {
		p.wrong(env, fmt.Sprintf("0 or a whole number from %d to %d", minConnections, most))
	}
	return n
}

// size reads a number of bytes with a unit; 0 is none set.
func (p *settingsParser) size(env string) int64 {
	value := p.values[env].value
	if value == "" {
		return 0
	}
	for unit, bytes := range map[string]int64{"MiB": 1 << 20, "GiB": 1 << 30} {
		digits, ok := strings.CutSuffix(value, unit)
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32)
		if ok && err == nil && n*bytes >= minMemoryLimit {
			return n * bytes
		}
	}
	p.wrong(env, "a size of at least 64MiB, such as 512MiB or 2GiB")
	return 0
}

func (p *settingsParser) networks(env string) []netip.Prefix {
	networks, err := parseNetworks(p.values[env].value)
	if err != nil {
		p.wrong(env, "addresses or networks separated by commas, such as 10.0.0.0/8, 192.0.2.1, 2001:db8::/32")
	}
	return networks
}

func (p *settingsParser) clientIPHeader(env string) string {
	var names []string
	for _, header := range clientHeaders {
		if strings.EqualFold(header.name, p.values[env].value) {
			return header.name
		}
		names = append(names, header.name)
	}
	last := len(names) - 1
	p.wrong(env, strings.Join(names[:last], ", ")+" or "+names[last])
	return ""
}

func (p *settingsParser) mailServer(env string) *url.URL {
	value := p.values[env].value
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "smtp" && u.Scheme != "smtps") || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		p.wrong(env, "smtp://user:password@host:587 or smtps://user:password@host:465, with %-escapes for special characters")
		return nil
	}
	return u
}

func (p *settingsParser) mailAddress(env string) *mail.Address {
	value := p.values[env].value
	if value == "" {
		return nil
	}
	address, err := mail.ParseAddress(value)
	if err != nil {
		p.wrong(env, "a mail address, such as status@example.com or Example Status <status@example.com>")
	}
	return address
}

func (p *settingsParser) oneOf(env string, words ...string) string {
	value := strings.ToLower(p.values[env].value)
	if !slices.Contains(words, value) {
		p.wrong(env, strings.Join(words[:len(words)-1], ", ")+" or "+words[len(words)-1])
	}
	return value
}

func (p *settingsParser) database(env string) string {
	value := p.values[env].value
	if path, ok := strings.CutPrefix(value, "sqlite:"); ok && path != "" && !strings.ContainsRune(path, 0) {
		return value
	}
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") || u.Opaque != "" {
		takes := "sqlite:PATH or postgres://user:password@host/name, with %-escapes for special characters"
		if !strings.ContainsAny(value, ":@") { // nothing that could hold a password
			takes += "; for this file it is sqlite:" + value
		}
		p.wrong(env, takes)
	}
	return value
}

// databaseName names the database in logs and messages: without user, password
// and parameters.
func databaseName(database string) string {
	if strings.HasPrefix(database, "sqlite:") {
		return database
	}
	u, err := url.Parse(database)
	if err != nil {
		return "postgres"
	}
	return "postgres://" + u.Host + u.Path
}

// short writes a duration without its zero units.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// setting is one field of a struct of settings.
type setting struct {
	env, flag, fallback, placeholder, help string
	secret                                 bool
}

// givenSetting is a setting with what the operator gave, or else its default.
type givenSetting struct {
	setting
	value string
}

// settingsOf lists the settings that a struct's tags describe, by environment
// variable.
func settingsOf(s any) map[string]givenSetting {
	out := make(map[string]givenSetting)
	for _, g := range listSettings(reflect.ValueOf(s)) {
		out[g.env] = g
	}
	return out
}

// listSettings lists the settings of a struct in the order of its fields.
func listSettings(v reflect.Value) (out []givenSetting) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if _, ok := field.Tag.Lookup("embed"); ok {
			out = append(out, listSettings(v.Field(i))...)
			continue
		}
		env := field.Tag.Get("env")
		if env == "" {
			continue
		}
		_, secret := field.Tag.Lookup("secret")
		g := givenSetting{
			setting: setting{
				env: env, flag: strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(env, "ALLSWELL_")), "_", "-"),
				fallback: field.Tag.Get("default"), placeholder: field.Tag.Get("placeholder"),
				help: field.Tag.Get("help"), secret: secret,
			},
			value: strings.TrimSpace(v.Field(i).String()),
		}
		if g.value == "" {
			g.value = g.fallback
		}
		out = append(out, g)
	}
	return out
}

// warnOfUnknown says in one line which variables of the environment look like
// settings and are none.
func (c *console) warnOfUnknown(environ []string) {
	known := map[string]bool{demoPingVariable: true}
	for _, s := range []any{Settings{}, clientSettings{}} {
		for env := range settingsOf(s) {
			known[env] = true
		}
	}
	var unknown []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && strings.HasPrefix(name, "ALLSWELL_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		fmt.Fprintf(c.err, "allswell: warning: ignored, because there are no such settings: %s\n", strings.Join(unknown, ", "))
	}
}
