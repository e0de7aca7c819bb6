package check

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// maxDatabaseMessage is the maximum size of a message that is read from a database, in bytes.
const maxDatabaseMessage = 64 << 10

var postgresType = Type{
	Name: "postgres", Label: "PostgreSQL",
	Help: "Asks a PostgreSQL server whether it accepts connections, without signing in.",
	Fields: []Field{
		hostField("db.example.com"), standardPort(5432), tlsField,
		{
			Name: "username", Label: "User",
			Help: "User whose connections must be accepted; empty: the check passes if the server responds.",
			Kind: configfield.KindText, Advanced: true, Max: 63,
		},
		{
			Name: "database", Label: "Database", Help: "Database; empty: postgres.", Kind: configfield.KindText,
			Advanced: true, Max: 63,
		},
		warnDaysField, downDaysField, insecureField, caField, clientCertificateField, ipVersionField,
	},
	New: func() Probe { return &postgresProbe{Port: 5432, tlsOptions: defaultTLS} },
}

type postgresProbe struct {
	Host      string `json:"host"`
	Port      int    `json:"port"`
	TLS       bool   `json:"tls"`
	Username  string `json:"username,omitzero"`
	Database  string `json:"database,omitzero"`
	IPVersion string `json:"ip_version,omitzero"`
	tlsOptions
}

// Validate adds what is invalid, and prepares the probe to run.
func (p *postgresProbe) Validate(bad *kernel.ValidationError) {
	checkHost(bad, "host", &p.Host)
	p.prepare(bad, p.Host)
	p.config.NextProtos = []string{"postgresql"}
}

// Destination returns where secrets are sent.
func (p *postgresProbe) Destination() configfield.Destination {
	return hostDestination(p.Host, p.Port, onOff(p.TLS), &p.tlsOptions)
}

// Target returns the target.
func (p *postgresProbe) Target() Target { return Target{p.Host, p.Port} }

// Codes of the first message of a client.
const (
	postgresVersion    = 3 << 16
	postgresSSLRequest = 80877103
)

func (p *postgresProbe) run(ctx context.Context, r *run) Outcome {
	conn, err := r.dial(ctx, "tcp"+p.IPVersion, joinHostPort(p.Host, p.Port))
	if err != nil {
		return r.fail(err)
	}
	defer func() { conn.Close() }()
	if p.TLS {
		secured, o := p.startTLS(ctx, r, conn)
		if o.Failure != "" {
			return o
		}
		conn = secured
	}
	startup := binary.BigEndian.AppendUint32(nil, postgresVersion)
	for _, word := range []string{
		"user", cmp.Or(p.Username, "allswell"), "database", cmp.Or(p.Database, "postgres"), "application_name",
		"allswell", "",
	} {
		startup = append(append(startup, word...), 0)
	}
	if _, err := conn.Write(postgresMessage(startup)); err != nil {
		return r.fail(err)
	}
	r.enter(stageWaiting)
	for range maxPostgresMessages {
		kind, body, err := readPostgres(conn)
		if err != nil {
			return r.fail(err)
		}
		r.gotFirstByte()
		if failure, done := p.judge(kind, body); done {
			_, _ = conn.Write([]byte{'X', 0, 0, 0, 4}) // Terminate
			return Outcome{Answered: true, Failure: failure}
		}
	}
	return Outcome{Answered: true, Failure: "the answer is not one of PostgreSQL"}
}

// maxPostgresMessages is how many messages are read from a server that asks for no password, until it is ready for
// queries.
const maxPostgresMessages = 100

// postgresMessage returns the first message of a client, which has no type.
func postgresMessage(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4)), body...)
}

func (p *postgresProbe) startTLS(ctx context.Context, r *run, conn net.Conn) (*tls.Conn, Outcome) {
	if _, err := conn.Write(postgresMessage(binary.BigEndian.AppendUint32(nil, postgresSSLRequest))); err != nil {
		return nil, r.fail(err)
	}
	var answer [1]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return nil, r.fail(err)
	}
	switch answer[0] {
	case 'S':
		secured, err := r.startTLS(ctx, conn, p.config)
		if err != nil {
			return nil, r.fail(err)
		}
		return secured, Outcome{}
	case 'N':
		return nil, Outcome{Answered: true, Failure: "the server does not offer TLS"}
	case 'E':
		return nil, Outcome{Answered: true, Failure: "the server does not accept connections"}
	}
	return nil, Outcome{Answered: true, Failure: "the answer is not one of PostgreSQL"}
}

// readPostgres reads a message of a server.
func readPostgres(conn io.Reader) (kind byte, body []byte, err error) {
	var header [5]byte
	if _, err := io.ReadFull(conn, header[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(header[1:])
	if size < 4 || size > maxDatabaseMessage {
		return 0, nil, errInvalidResponse
	}
	body = make([]byte, size-4)
	_, err = io.ReadFull(conn, body)
	return header[0], body, err
}

// judge returns why a server does not accept connections, or "", and whether that is known already. Asking for a
// password is enough.
func (p *postgresProbe) judge(kind byte, body []byte) (failure string, done bool) {
	switch kind {
	case 'R':
		if len(body) < 4 {
			break
		}
		return "", binary.BigEndian.Uint32(body) != 0 // 0: no password is needed, and it goes on
	case 'Z':
		return "", true
	case 'S', 'K', 'N', 'v': // parameters, the key to cancel, notices, and the version of the protocol
		return "", false
	case 'E':
		code, message := postgresError(body)
		unknownUser := strings.HasPrefix(code, "28") || code == "3D000" // the server works, and does not know us
		if unknownUser && p.Username == "" && p.Database == "" {
			return "", true
		}
		return "the server refused: " + shorten(message), true
	}
	return "the answer is not one of PostgreSQL", true
}

// postgresError returns the SQLSTATE and the message of an ErrorResponse.
func postgresError(body []byte) (code, message string) {
	for field := range bytes.SplitSeq(body, []byte{0}) {
		if len(field) == 0 {
			break
		}
		switch field[0] {
		case 'C':
			code = string(field[1:])
		case 'M':
			message = string(field[1:])
		}
	}
	if message == "" {
		message = fmt.Sprintf("error %s", code)
	}
	return code, message
}
