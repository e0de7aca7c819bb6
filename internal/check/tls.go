package check

import (
	"cmp"
	"context"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

var tlsType = Type{
	Name: "tls", Label: "TLS certificate",
	Help: "Checks the certificate of a server: its name, its chain and its expiry.",
	Fields: []Field{
		hostField("www.example.com"), standardPort(443),
		{
			Name: "server_name", Label: "Server name", Help: "Name that the certificate must have; empty: the host.",
			Kind: configfield.KindText, Advanced: true, Max: 253, Example: "www.example.com",
		},
		warnDaysField, downDaysField, insecureField, caField, clientCertificateField, ipVersionField,
	},
	New: func() Probe { return &tlsProbe{Port: 443, tlsOptions: defaultTLS} },
}

type tlsProbe struct {
	Host       string `json:"host"`
	Port       int    `json:"port"`
	ServerName string `json:"server_name,omitzero"`
	IPVersion  string `json:"ip_version,omitzero"`
	tlsOptions
}

// Validate adds what is invalid, and prepares the probe to run.
func (p *tlsProbe) Validate(bad *kernel.ValidationError) {
	checkHost(bad, "host", &p.Host)
	if p.ServerName != "" {
		checkHost(bad, "server_name", &p.ServerName)
	}
	p.prepare(bad, cmp.Or(p.ServerName, p.Host))
}

// Destination returns where secrets are sent.
func (p *tlsProbe) Destination() configfield.Destination {
	return hostDestination(p.Host, p.Port, "tls "+p.ServerName, &p.tlsOptions)
}

// judgeExpiry also fails with insecure, unlike tlsOptions.judgeExpiry: the expiry is what this type checks.
func (p *tlsProbe) judgeExpiry(o *Outcome, now time.Time) { p.expiry.judgeExpiry(o, now) }

// Target returns the target.
func (p *tlsProbe) Target() Target { return Target{p.Host, p.Port} }

func (p *tlsProbe) run(ctx context.Context, r *run) Outcome {
	conn, err := r.dial(ctx, "tcp"+p.IPVersion, joinHostPort(p.Host, p.Port))
	if err != nil {
		return r.fail(err)
	}
	defer conn.Close()
	if _, err := r.startTLS(ctx, conn, p.config); err != nil {
		return r.fail(err)
	}
	return Outcome{Answered: true}
}
