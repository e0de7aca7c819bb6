package check

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxHealthMessage is the maximum size of the response of a health check.
const maxHealthMessage = 64 << 10

var grpcType = Type{
	Name: "grpc", Label: "gRPC", Help: "Asks a gRPC server for the health of a service (grpc.health.v1).",
	Fields: []Field{
		hostField("accounts.example.com"), portField("50051"), tlsField,
		{
			Name: "service", Label: "Service", Help: "Name of the service; empty: the whole server.",
			Kind: configfield.KindText, Max: 255, Example: "acme.Orders",
		},
		warnDaysField, downDaysField, insecureField, caField, clientCertificateField, ipVersionField,
	},
	New: func() Probe { return &grpcProbe{tlsOptions: defaultTLS} },
}

// grpcProbe uses gRPC over the HTTP/2 of the standard library. A library is not worthwhile for one request with one
// message of one field.
type grpcProbe struct {
	Host      string `json:"host"`
	Port      int    `json:"port"`
	TLS       bool   `json:"tls"`
	Service   string `json:"service,omitzero"`
	IPVersion string `json:"ip_version,omitzero"`
	tlsOptions
}

// Validate adds what is invalid, and prepares the probe to run.
func (p *grpcProbe) Validate(bad *kernel.ValidationError) {
	checkHost(bad, "host", &p.Host)
	p.prepare(bad, p.Host)
}

// Destination returns where secrets are sent.
func (p *grpcProbe) Destination() configfield.Destination {
	return hostDestination(p.Host, p.Port, onOff(p.TLS), &p.tlsOptions)
}

// Target returns the target.
func (p *grpcProbe) Target() Target { return Target{p.Host, p.Port} }

func (p *grpcProbe) run(ctx context.Context, r *run) Outcome {
	scheme := "http"
	if p.TLS {
		scheme = "https"
	}
	hops := &requests{run: r}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, hops.trace()), http.MethodPost,
		scheme+"://"+joinHostPort(p.Host, p.Port)+"/grpc.health.v1.Health/Check",
		bytes.NewReader(healthRequest(p.Service)))
	if err != nil {
		return Outcome{Failure: "the request is not valid", Unknown: true}
	}
	for name, value := range map[string]string{
		"Content-Type": "application/grpc", "Te": "trailers", "User-Agent": "Allswell",
	} {
		request.Header.Set(name, value)
	}
	transport := newTransport(r, p.IPVersion, p.config)
	transport.Protocols.SetHTTP2(true)
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return hops.fail(err)
	}
	defer response.Body.Close()
	message, err := io.ReadAll(io.LimitReader(response.Body, maxHealthMessage))
	if err != nil {
		return hops.fail(err)
	}
	return Outcome{Answered: true, Failure: p.judge(response, message)}
}

// healthRequest returns a gRPC message with a HealthCheckRequest.
func healthRequest(service string) []byte {
	message := protowire.AppendTag(nil, 1, protowire.BytesType)
	message = protowire.AppendString(message, service)
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// judge returns why the service is not healthy according to the response; "": it is.
func (p *grpcProbe) judge(response *http.Response, message []byte) string {
	if response.StatusCode != http.StatusOK {
		return fmt.Sprintf("HTTP %d (expected a gRPC response)", response.StatusCode)
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/grpc") {
		return "not a gRPC response"
	}
	status := response.Trailer.Get("Grpc-Status")
	if status == "" {
		status = response.Header.Get("Grpc-Status") // a response without a message has no trailer
	}
	if code, err := strconv.ParseUint(status, 10, 32); err != nil {
		return "the response has no gRPC status"
	} else if code != 0 {
		return p.statusReason(uint32(code))
	}
	health, ok := healthStatus(message)
	switch {
	case !ok:
		return "the response is not one of grpc.health.v1"
	case health == 1:
		return ""
	case health == 2:
		return p.named() + " is not serving"
	case health == 3:
		return "the server does not know the service " + p.Service
	}
	return "the health of " + p.named() + " is unknown"
}

func (p *grpcProbe) named() string {
	if p.Service == "" {
		return "the server"
	}
	return "the service " + p.Service
}

// statusReason returns the reason for a gRPC status other than OK.
func (p *grpcProbe) statusReason(code uint32) string {
	switch code {
	case 5:
		return "the server does not know " + p.named()
	case 7, 16:
		return "the server does not permit health checks"
	case 12:
		return "the server has no health checks (grpc.health.v1)"
	case 14:
		return p.named() + " is unavailable"
	}
	return fmt.Sprintf("the server returned gRPC status %d", code)
}

// healthStatus returns the status of the HealthCheckResponse in a gRPC message.
func healthStatus(message []byte) (status uint64, ok bool) {
	if len(message) < 5 || message[0] != 0 || uint64(binary.BigEndian.Uint32(message[1:5])) != uint64(len(message)-5) {
		return 0, false
	}
	for rest := message[5:]; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return 0, false
		}
		rest = rest[n:]
		if number == 1 && kind == protowire.VarintType {
			status, n = protowire.ConsumeVarint(rest)
		} else {
			n = protowire.ConsumeFieldValue(number, kind, rest)
		}
		if n < 0 {
			return 0, false
		}
		rest = rest[n:]
	}
	return status, true
}
