package check

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

var tcpType = Type{
	Name: "tcp", Label: "TCP",
	Help: "Connects to a port, and can send a text and expect one. For MySQL and MariaDB use the type mysql: they " +
		"block hosts that connect and leave.",
	Fields: []Field{
		hostField("queue.example.com"), portField("6379"),
		tlsField,
		{
			Name: "send", Label: "Send", Help: "Text to send after connecting.", Kind: configfield.KindLongText,
			Example: "PING\n",
		},
		{
			Name: "expect", Label: "Expect", Help: "Text that the answer must contain.", Kind: configfield.KindText,
			Example: "PONG",
		},
		warnDaysField, downDaysField, insecureField, caField, clientCertificateField, ipVersionField,
	},
	New: func() Probe { return &tcpProbe{tlsOptions: defaultTLS} },
}

type tcpProbe struct {
	Host      string `json:"host"`
	Port      int    `json:"port"`
	TLS       bool   `json:"tls"`
	Send      string `json:"send,omitzero"`
	Expect    string `json:"expect,omitzero"`
	IPVersion string `json:"ip_version,omitzero"`
	tlsOptions
}

// Validate adds what is invalid, and prepares the probe to run.
func (p *tcpProbe) Validate(bad *kernel.ValidationError) {
	checkHost(bad, "host", &p.Host)
	p.prepare(bad, p.Host)
}

// Destination returns where secrets are sent.
func (p *tcpProbe) Destination() configfield.Destination {
	return hostDestination(p.Host, p.Port, onOff(p.TLS), &p.tlsOptions)
}

// Target returns the target.
func (p *tcpProbe) Target() Target { return Target{p.Host, p.Port} }

func (p *tcpProbe) run(ctx context.Context, r *run) Outcome {
	conn, err := r.connect(ctx, "tcp"+p.IPVersion, joinHostPort(p.Host, p.Port), p.TLS, p.config)
	if err != nil {
		return r.fail(err)
	}
	defer conn.Close()
	o, received := p.talk(r, conn)
	if p.Send != "" || p.TLS || len(received) == 0 && o.Failure != "" {
		return o
	}
	if why := r.endGreeting(conn, received); why != "" {
		o.Failure, o.Answered = why, true
	}
	return o
}

// maxExpect is how many bytes are read to find the expected text.
const maxExpect = 64 << 10

// talk sends and expects on an open connection. It also returns what it received.
func (p *tcpProbe) talk(r *run, conn net.Conn) (o Outcome, answer []byte) {
	if p.Send != "" {
		if _, err := io.WriteString(conn, p.Send); err != nil {
			return r.fail(err), nil
		}
	}
	if p.Expect == "" {
		return Outcome{Answered: true}, nil
	}
	r.enter(stageWaiting)
	buffer := make([]byte, 4096)
	for len(answer) < maxExpect {
		n, err := conn.Read(buffer)
		if n > 0 && len(answer) == 0 {
			r.gotFirstByte()
		}
		answer = append(answer, buffer[:n]...)
		begin := max(0, len(answer)-n-len(p.Expect)) // what is before it was searched
		switch {
		case bytes.Contains(answer[begin:], []byte(p.Expect)):
			return Outcome{Answered: true}, answer
		case err != nil && len(answer) == 0:
			return r.fail(err), nil
		case err != nil:
			o := r.fail(err)
			o.Failure, o.Body = "the answer does not contain the expected text", string(answer)
			return o, answer
		}
	}
	return Outcome{
		Failure: fmt.Sprintf("the first %d kB of the answer do not contain the expected text", maxExpect>>10),
		Body:    string(answer),
	}, answer
}
