package check

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// maxRedisLine is the maximum length of a line that is read from Redis, in bytes.
const maxRedisLine = 4096

var redisType = Type{
	Name: "redis", Label: "Redis", Help: "Sends PING to a Redis or Valkey server.",
	Fields: []Field{
		hostField("cache.example.com"), standardPort(6379), tlsField,
		{
			Name: "username", Label: "User", Help: "User of the password; empty: the default one.",
			Kind: configfield.KindText, Advanced: true, Max: 255,
		},
		{
			Name: "password", Label: "Password", Help: "Password; empty: the check passes if the server requires one.",
			Kind: configfield.KindText, Secret: true, Advanced: true,
		},
		warnDaysField, downDaysField, insecureField, caField, clientCertificateField, ipVersionField,
	},
	New: func() Probe { return &redisProbe{Port: 6379, tlsOptions: defaultTLS} },
}

type redisProbe struct {
	Host      string `json:"host"`
	Port      int    `json:"port"`
	TLS       bool   `json:"tls"`
	Username  string `json:"username,omitzero"`
	Password  string `json:"password,omitzero"`
	IPVersion string `json:"ip_version,omitzero"`
	tlsOptions
}

// Validate adds what is invalid, and prepares the probe to run.
func (p *redisProbe) Validate(bad *kernel.ValidationError) {
	checkHost(bad, "host", &p.Host)
	p.prepare(bad, p.Host)
}

// Destination returns where secrets are sent.
func (p *redisProbe) Destination() configfield.Destination {
	return hostDestination(p.Host, p.Port, onOff(p.TLS), &p.tlsOptions)
}

// Target returns the target.
func (p *redisProbe) Target() Target { return Target{p.Host, p.Port} }

func (p *redisProbe) run(ctx context.Context, r *run) Outcome {
	conn, err := r.connect(ctx, "tcp"+p.IPVersion, joinHostPort(p.Host, p.Port), p.TLS, p.config)
	if err != nil {
		return r.fail(err)
	}
	defer conn.Close()
	reader := bufio.NewReaderSize(conn, maxRedisLine)
	if p.Password != "" {
		words := []string{"AUTH", p.Password}
		if p.Username != "" {
			words = []string{"AUTH", p.Username, p.Password}
		}
		line, err := redisCommand(r, conn, reader, words...)
		if err != nil {
			return r.fail(err)
		}
		if line != "+OK" {
			return Outcome{Answered: true, Failure: redisReason(line)}
		}
	}
	line, err := redisCommand(r, conn, reader, "PING")
	if err != nil {
		return r.fail(err)
	}
	if line == "+PONG" || p.Password == "" && strings.HasPrefix(line, "-NOAUTH ") {
		return Outcome{Answered: true}
	}
	return Outcome{Answered: true, Failure: redisReason(line)}
}

// redisCommand sends a command, and returns the line of the answer.
func redisCommand(r *run, conn io.Writer, reader *bufio.Reader, words ...string) (string, error) {
	var command strings.Builder
	fmt.Fprintf(&command, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(conn, command.String()); err != nil {
		return "", err
	}
	r.enter(stageWaiting)
	line, err := reader.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		return "", errInvalidResponse
	}
	if err != nil {
		return "", err
	}
	r.gotFirstByte()
	return strings.TrimRight(string(line), "\r\n"), nil
}

// maxRedisCode is the maximum length of the code of an error, such as WRONGPASS.
const maxRedisCode = 20

// redisReason returns what an answer other than the expected one says: the code of an error, and not its text, in which
// servers repeat what they received, such as parts of passwords.
func redisReason(line string) string {
	text, isError := strings.CutPrefix(line, "-")
	if !isError {
		return "the answer is not one of Redis"
	}
	code, _, _ := strings.Cut(text, " ")
	if code == "" || len(code) > maxRedisCode || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "the server answered with an error"
	}
	return "the server answered with the error " + code
}
