package check

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/allswell/allswell"
)

var tcpType = Type{
	Name: "tcp", Label: "TCP", Help: "Connects to a port, and can send a text and expect one.",
	Fields: []Field{
		hostField, portField(0),
		{Name: "tls", Label: "TLS", Help: "Whether to speak TLS.", Kind: KindFlag, Default: "false"},
		{Name: "send", Label: "Send", Help: "Text to send after connecting.", Kind: KindLongText, Example: "PING\n"},
		{Name: "expect", Label: "Expect", Help: "Text that the answer must contain.", Kind: KindText, Example: "PONG"},
		insecureField, ipVersionField,
	},
	New: func() Probe { return new(tcpProbe) },
}

type tcpProbe struct {
	Host      string `json:"host"`
	Port      int    `json:"port"`
	TLS       bool   `json:"tls"`
	Send      string `json:"send,omitzero"`
	Expect    string `json:"expect,omitzero"`
	Insecure  bool   `json:"insecure"`
	IPVersion string `json:"ip_version,omitzero"`
}

// Validate adds what is invalid.
func (p *tcpProbe) Validate(bad *allswell.ValidationError) { checkHost(bad, "host", &p.Host) }

// Target returns the target.
func (p *tcpProbe) Target() Target { return Target{p.Host, p.Port} }

func (p *tcpProbe) run(ctx context.Context, r *run) Outcome {
	conn, err := r.dial(ctx, "tcp"+p.IPVersion, joinHostPort(p.Host, p.Port))
	if err != nil {
		return r.fail(err)
	}
	defer conn.Close()
	if p.TLS {
		secured, err := r.startTLS(ctx, conn, &tls.Config{ServerName: p.Host, InsecureSkipVerify: p.Insecure})
		if err != nil {
			return r.fail(err)
		}
		conn = secured
	}
	return p.talk(r, conn)
}

// maxExpect is how many bytes are read to find the expected text.
const maxExpect = 64 << 10

// talk sends and expects on an open connection.
func (p *tcpProbe) talk(r *run, conn net.Conn) Outcome {
	if p.Send != "" {
		if _, err := io.WriteString(conn, p.Send); err != nil {
			return r.fail(err)
		}
	}
	if p.Expect == "" {
		return Outcome{Answered: true}
	}
	r.enter(stageWaiting)
	answer, buffer := []byte(nil), make([]byte, 4096)
	for len(answer) < maxExpect {
		n, err := conn.Read(buffer)
		if n > 0 && len(answer) == 0 {
			r.mu.Lock()
			r.phases.FirstByte = r.enterLocked(stageReading)
			r.mu.Unlock()
		}
		answer = append(answer, buffer[:n]...)
		switch {
		case bytes.Contains(answer, []byte(p.Expect)):
			return Outcome{Answered: true}
		case err != nil && len(answer) == 0:
			return r.fail(err)
		case err != nil:
			o := r.fail(err)
			o.Failure, o.Body = "the answer does not contain the expected text", string(answer)
			return o
		}
	}
	return Outcome{Failure: fmt.Sprintf("the first %d kB of the answer do not contain the expected text", maxExpect>>10), Body: string(answer)}
}

// Fields that several types have.
var (
	hostField = Field{Name: "host", Label: "Host", Help: "Name or IP address.", Kind: KindText, Required: true, Max: 253, Example: "db.example.com"}

	insecureField = Field{Name: "insecure", Label: "Do not verify the certificate", Help: "Accept any certificate.", Kind: KindFlag, Advanced: true, Default: "false"}

	ipVersionField = Field{Name: "ip_version", Label: "IP version", Help: "4 or 6 to use only IPv4 or IPv6.", Kind: KindText, Advanced: true, Choices: []string{"4", "6"}}
)

// portField is the field of a port; standard is the default, 0: it is required.
func portField(standard int) Field {
	f := Field{Name: "port", Label: "Port", Help: "TCP port.", Kind: KindInteger, Min: 1, Max: 65535, Required: standard == 0, Example: "5432"}
	if standard > 0 {
		f.Default, f.Example = fmt.Sprint(standard), ""
	}
	return f
}

// checkHost checks a name or address, and trims it.
func checkHost(bad *allswell.ValidationError, field string, host *string) {
	*host = strings.Trim(strings.TrimSpace(*host), "[]")
	switch {
	case *host == "":
		bad.Add(field, "The %s field is required.", field)
	case net.ParseIP(*host) == nil && !isHostName(*host):
		bad.Add(field, "The %s must be a host name or an IP address.", field)
	}
}

// isHostName reports whether a text can be a name in DNS. Names in other scripts are given in their ASCII form. Underscores are
// common in names of containers.
func isHostName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			return false
		}
	}
	return true
}
