package check

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/hostname"
	"github.com/miekg/dns"
)

// Limits of a DNS check.
const (
	dnsTries      = 3    // queries over UDP, because packets are lost
	dnsUDPSize    = 1232 // bytes of an answer over UDP; longer ones are requested over TCP
	maxDNSRecords = 1000 // of an answer that are compared
)

// resolvConf has the name servers of this machine.
const resolvConf = "/etc/resolv.conf"

var dnsType = Type{
	Name: "dns", Label: "DNS", Help: "Asks a name server for records, and checks them.",
	Fields: []Field{
		{
			Name: "host", Label: "Name to look up", Help: "Name to look up; for PTR also an IP address.",
			Kind: configfield.KindText, Required: true, Max: 253, Example: "www.example.com",
		},
		{
			Name: "record_type", Label: "Record type", Help: "Type of the records.",
			NoHint: true, Kind: configfield.KindText,
			Choices: dnsRecordTypes, Default: "A",
		},
		{
			Name: "resolver", Label: "Name server", Help: "Host and port of the name server; empty: this machine's.",
			Kind: configfield.KindText, Max: 260, Example: "9.9.9.9:53",
		},
		{
			Name: "expected_values", Label: "Expected values", Help: "Values that the answer must contain.",
			Kind: configfield.KindList, Example: "192.0.2.1",
		},
		{
			Name: "dnssec", Label: "DNSSEC", Help: "Whether the name server must have verified the answer (AD).",
			Kind: configfield.KindFlag, Advanced: true, Default: "false",
		},
		ipVersionField,
	},
	New: func() Probe { return &dnsProbe{RecordType: "A"} },
}

var dnsRecordTypes = []string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "SRV", "SOA", "CAA", "PTR"}

type dnsProbe struct {
	Name           string   `json:"host"`
	RecordType     string   `json:"record_type"`
	Resolver       string   `json:"resolver,omitzero"`
	ExpectedValues []string `json:"expected_values,omitempty"`
	DNSSEC         bool     `json:"dnssec"`
	IPVersion      string   `json:"ip_version,omitzero"`

	host string // of the resolver; "": the system's
	port int
}

// Validate adds what is invalid.
func (p *dnsProbe) Validate(bad *kernel.ValidationError) {
	name, ascii := hostname.ASCII(strings.TrimSpace(p.Name))
	p.Name, p.RecordType = name, cmp.Or(p.RecordType, "A")
	if _, ok := dns.IsDomainName(p.Name); !ok || !ascii || p.Name == "" || strings.ContainsAny(p.Name, " \\\"") {
		bad.Add("host", "must be a DNS name")
	}
	p.Resolver, _ = hostname.InHostPort(strings.TrimSpace(p.Resolver)) // checkHost refuses what has no ASCII form
	p.host, p.port = p.Resolver, 53
	if host, port, err := net.SplitHostPort(p.Resolver); err == nil {
		p.host = host
		if p.port, err = strconv.Atoi(port); err != nil || p.port < 1 || p.port > 65535 {
			bad.Add("resolver", "must be a host, or a host and a port")
			return
		}
	}
	if p.Resolver != "" {
		checkHost(bad, "resolver", &p.host)
	}
}

// Destination returns the name server, which gets the question.
func (p *dnsProbe) Destination() configfield.Destination {
	return configfield.Destination{strings.ToLower(p.Resolver)}
}

// Target returns the name server; the zero Target: this machine's, which says nothing about the network.
func (p *dnsProbe) Target() Target {
	if p.host == "" {
		return Target{}
	}
	return Target{p.host, p.port}
}

func (p *dnsProbe) run(ctx context.Context, r *run) Outcome {
	discreet := p.host == "" && r.network.Discreet
	if discreet && isInternalName(p.question()) { // not even how long it takes tells whether it exists
		return Outcome{Answered: true, Failure: p.none()}
	}
	query := new(dns.Msg).SetQuestion(p.question(), dns.StringToType[p.RecordType])
	query.SetEdns0(dnsUDPSize, p.DNSSEC)
	query.AuthenticatedData = p.DNSSEC
	answer, err := p.ask(ctx, r, query)
	if err != nil {
		return r.fail(err)
	}
	// a stub on this machine answers so without a network
	o := Outcome{Answered: p.host != "" || answer.Rcode != dns.RcodeServerFailure}
	values := recordValues(answer, query.Question[0].Qtype)
	switch {
	case discreet && answer.Rcode != dns.RcodeServerFailure && r.isInternal(ctx, answer):
		o.Failure = p.none()
	case answer.Rcode != dns.RcodeSuccess:
		o.Failure = rcodeReason(answer.Rcode, p.Name)
	case len(values) == 0:
		o.Failure = p.none()
	case p.DNSSEC && !answer.AuthenticatedData:
		o.Failure = "the name server did not verify the answer with DNSSEC"
	default:
		o.Failure = p.missing(values)
	}
	return o
}

// none is the failure of a name without records.
func (p *dnsProbe) none() string { return fmt.Sprintf("%s has no %s record", p.Name, p.RecordType) }

// question returns the name that is asked for: for PTR, the reverse name of an address.
func (p *dnsProbe) question() string {
	if p.RecordType == "PTR" {
		if name, err := dns.ReverseAddr(p.Name); err == nil {
			return name
		}
	}
	return dns.Fqdn(p.Name)
}

// ask sends the query over UDP, several times if there is no answer, and over TCP if the answer is too long for UDP.
func (p *dnsProbe) ask(ctx context.Context, r *run, query *dns.Msg) (*dns.Msg, error) {
	var answer *dns.Msg
	var err error
	for try := range dnsTries {
		part, cancel := contextPart(ctx, dnsTries-try)
		answer, err = p.exchange(part, r, "udp", query)
		cancel()
		if err == nil || ctx.Err() != nil || !isTimeout(err) {
			break
		}
	}
	if err == nil && answer.Truncated {
		return p.exchange(ctx, r, "tcp", query)
	}
	return answer, err
}

// contextPart returns a context for one of several tries that share the time that is left.
func contextPart(ctx context.Context, tries int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok || tries <= 1 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(tries))
}

func (p *dnsProbe) exchange(ctx context.Context, r *run, network string, query *dns.Msg) (*dns.Msg, error) {
	conn, err := p.connect(ctx, r, network)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	packed, err := query.Pack()
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // of this try
	}
	r.enter(stageWaiting)
	for range maxStrayAnswers {
		message, err := exchangeDNS(conn, network, packed)
		if err != nil {
			return nil, err
		}
		answer := new(dns.Msg)
		if answer.Unpack(message) == nil && answer.Id == query.Id && isAnswerTo(answer, query.Question[0]) {
			r.gotFirstByte()
			return answer, nil
		}
		packed = nil // not sent again: what was received may be the answer to an earlier try, or forged
	}
	return nil, errInvalidResponse
}

// maxStrayAnswers is how many messages are read until one is the answer.
const maxStrayAnswers = 10

// exchangeDNS sends a message, unless it is nil, and receives one.
func exchangeDNS(conn net.Conn, network string, message []byte) ([]byte, error) {
	if network == "udp" {
		if message != nil {
			if _, err := conn.Write(message); err != nil {
				return nil, err
			}
		}
		buffer := make([]byte, 4096)
		n, err := conn.Read(buffer)
		return buffer[:n], err
	}
	if message != nil {
		_, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...))
		if err != nil {
			return nil, err
		}
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	buffer := make([]byte, binary.BigEndian.Uint16(size[:]))
	_, err := io.ReadFull(conn, buffer)
	return buffer, err
}

func isAnswerTo(answer *dns.Msg, q dns.Question) bool {
	return answer.Response && len(answer.Question) == 1 && strings.EqualFold(answer.Question[0].Name, q.Name) &&
		answer.Question[0].Qtype == q.Qtype
}

// connect connects to the name server. The operator trusts this machine's own resolver, which usually has a private
// address.
func (p *dnsProbe) connect(ctx context.Context, r *run, network string) (net.Conn, error) {
	if p.host != "" {
		return r.dial(ctx, network+p.IPVersion, joinHostPort(p.host, p.port))
	}
	address := cmp.Or(r.network.nameServer, "127.0.0.1:53")
	system, err := dns.ClientConfigFromFile(resolvConf)
	if r.network.nameServer == "" && err == nil && len(system.Servers) > 0 {
		address = net.JoinHostPort(system.Servers[0], system.Port)
	}
	trusted := &run{network: &Network{trusted: true}, timeout: r.timeout, limit: maxWire}
	conn, err := trusted.dial(ctx, network, address)
	r.mu.Lock()
	r.address = address
	r.mu.Unlock()
	return conn, err
}

// rcodeReason returns what a response code means.
func rcodeReason(code int, name string) string {
	switch code {
	case dns.RcodeNameError:
		return "the name " + name + " does not exist"
	case dns.RcodeServerFailure:
		return "the name server failed (SERVFAIL)"
	case dns.RcodeRefused:
		return "the name server refused the question (REFUSED)"
	}
	if text, ok := dns.RcodeToString[code]; ok {
		return "the name server answered " + text
	}
	return fmt.Sprintf("the name server answered code %d", code)
}
