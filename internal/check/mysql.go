package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

var mysqlType = Type{
	Name: "mysql", Label: "MySQL",
	Help: "Asks a MySQL or MariaDB server whether it accepts connections, without a password.",
	Fields: []Field{
		hostField("db.example.com"), standardPort(3306),
		{
			Name: "username", Label: "User",
			Help: "User without a password that must be able to sign in; empty: the check passes if the server " +
				"refuses the user.",
			Kind: configfield.KindText, Advanced: true, Max: 32,
		},
		ipVersionField,
	},
	New: func() Probe { return &mysqlProbe{Port: 3306} },
}

type mysqlProbe struct {
	Host      string `json:"host"`
	Port      int    `json:"port"`
	Username  string `json:"username,omitzero"`
	IPVersion string `json:"ip_version,omitzero"`
}

// Validate adds what is invalid.
func (p *mysqlProbe) Validate(bad *kernel.ValidationError) { checkHost(bad, "host", &p.Host) }

// Destination returns where secrets are sent.
func (p *mysqlProbe) Destination() configfield.Destination {
	return hostDestination(p.Host, p.Port, "", new(tlsOptions))
}

// Target returns the target.
func (p *mysqlProbe) Target() Target { return Target{p.Host, p.Port} }

// The first bytes of MySQL's packets, and capabilities of a client.
const (
	mysqlOK         = 0x00
	mysqlMoreData   = 0x01
	mysqlGreeting   = 0x0a // version 10 of the protocol
	mysqlAuthSwitch = 0xfe
	mysqlError      = 0xff

	mysqlLongPassword     = 1 << 0
	mysqlProtocol41       = 1 << 9
	mysqlSecureConnection = 1 << 15
	mysqlPluginAuth       = 1 << 19
)

// run completes the handshake: a server blocks hosts that often leave before its end (max_connect_errors), but not
// hosts that it refuses.
func (p *mysqlProbe) run(ctx context.Context, r *run) Outcome {
	conn, err := r.dial(ctx, "tcp"+p.IPVersion, joinHostPort(p.Host, p.Port))
	if err != nil {
		return r.fail(err)
	}
	defer conn.Close()
	_, packet, err := readMySQL(conn)
	if err != nil {
		return r.fail(err)
	}
	r.gotFirstByte()
	if packet[0] != mysqlGreeting {
		return Outcome{Answered: true, Failure: mysqlReason(packet)}
	}
	return p.signInAs(r, conn)
}

// signInAs ends the handshake after the greeting.
func (p *mysqlProbe) signInAs(r *run, conn io.ReadWriter) Outcome {
	if _, err := conn.Write(mysqlPacket(1, p.signIn())); err != nil {
		return r.fail(err)
	}
	for range 3 { // of a switch to another way to authenticate, and its result
		sequence, packet, err := readMySQL(conn)
		if err != nil {
			return r.fail(err)
		}
		switch packet[0] {
		case mysqlAuthSwitch, mysqlMoreData:
			if _, err := conn.Write(mysqlPacket(sequence+1, nil)); err != nil { // an empty password
				return r.fail(err)
			}
			continue
		case mysqlOK:
			_, _ = conn.Write(mysqlPacket(0, []byte{1})) // COM_QUIT
			return Outcome{Answered: true}
		}
		if p.Username == "" && isMySQLRefusal(packet) {
			return Outcome{Answered: true}
		}
		return Outcome{Answered: true, Failure: mysqlReason(packet)}
	}
	return Outcome{Answered: true, Failure: "the server did not end its handshake"}
}

// signIn returns a HandshakeResponse41 with an empty password.
func (p *mysqlProbe) signIn() []byte {
	body := binary.LittleEndian.AppendUint32(nil,
		mysqlLongPassword|mysqlProtocol41|mysqlSecureConnection|mysqlPluginAuth)
	body = binary.LittleEndian.AppendUint32(body, 1<<24-1) // the longest packet
	body = append(body, 45)                                // utf8mb4
	body = append(body, make([]byte, 23)...)
	body = append(append(body, cmp.Or(p.Username, "allswell")...), 0)
	body = append(body, 0) // no bytes of a password
	return append(append(body, "mysql_native_password"...), 0)
}

func mysqlPacket(sequence byte, body []byte) []byte {
	return append([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), sequence}, body...)
}

// readMySQL reads a packet, which is not empty.
func readMySQL(conn io.Reader) (sequence byte, body []byte, err error) {
	var header [4]byte
	if _, err := io.ReadFull(conn, header[:]); err != nil {
		return 0, nil, err
	}
	size := int(header[0]) | int(header[1])<<8 | int(header[2])<<16
	if size == 0 || size > maxDatabaseMessage {
		return 0, nil, errInvalidResponse
	}
	body = make([]byte, size)
	_, err = io.ReadFull(conn, body)
	return header[3], body, err
}

// isMySQLRefusal reports whether a server refused the user, so that it works: ER_DBACCESS_DENIED_ERROR,
// ER_ACCESS_DENIED_ERROR, ER_NOT_SUPPORTED_AUTH_MODE, ER_ACCESS_DENIED_NO_PASSWORD_ERROR and
// ER_SECURE_TRANSPORT_REQUIRED.
func isMySQLRefusal(packet []byte) bool {
	if len(packet) < 3 || packet[0] != mysqlError {
		return false
	}
	switch binary.LittleEndian.Uint16(packet[1:]) {
	case 1044, 1045, 1251, 1698, 3159:
		return true
	}
	return false
}

// mysqlReason returns what an ERR packet says.
func mysqlReason(packet []byte) string {
	if len(packet) < 3 || packet[0] != mysqlError {
		return "the answer is not one of MySQL"
	}
	message := packet[3:]
	if len(message) >= 6 && message[0] == '#' { // the SQLSTATE
		message = message[6:]
	}
	return "the server refused: " + shorten(string(bytes.TrimRight(message, "\x00")))
}
