// Package check checks targets such as web servers and databases. Each type of check is one file and one line of Types.
// The package knows neither the store nor HTTP surfaces; these derive forms, flags and documents from the Fields of a
// Type.
package check

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// Type is a type of monitors whose targets the service checks.
type Type struct {
	Name   monitor.MonitorType
	Label  string // such as "HTTP"
	Help   string // one line
	Fields []Field
	New    func() Probe // a probe with the defaults of its fields, into which JSON is decoded
}

// Types are all types, in the order in which people see them.
var Types = []Type{
	httpType,
	tcpType,
	tlsType,
	dnsType,
	icmpType,
	grpcType,
	websocketType,
	smtpType,
	postgresType,
	mysqlType,
	redisType,
}

// TypeOf returns the type with a name, and false if there is none.
func TypeOf(name monitor.MonitorType) (Type, bool) {
	for _, t := range Types {
		if t.Name == name {
			return t, true
		}
	}
	return Type{}, false
}

// Field describes a field of a type.
type Field = configfield.Field

// Target is what a probe connects to. Limits per host and canaries use it.
type Target struct {
	Host string // name or address
	Port int    // 0: none, as of ICMP, or none that may be tried without a proxy
}

// Probe is the configured check of one target. Its type is a struct whose fields have the JSON keys of the Fields of
// its Type.
type Probe interface {
	configfield.Destined

	// Target returns the target of a valid probe.
	Target() Target

	// run checks the target once, until ctx ends.
	run(ctx context.Context, r *run) Outcome
}

// Outcome is what a probe found.
type Outcome struct {
	Failure  string // in plain English, such as "connection refused by 10.0.0.5:443"; "": the target works as expected
	Warning  string // of a target that works; "": none
	Answered bool   // the target answered, or another server of the check, so the network works
	NotAsked bool   // another server of the check failed, such as the server for its token, so the target was not asked
	Unknown  bool   // this machine caused the Failure, which says nothing about the target
	Phases   monitor.CheckPhases

	// the first instant at which a certificate of the target's chain expires; zero: none was seen
	CertificateExpiresAt time.Time
	Body                 string // the beginning of a response that is the reason of the Failure
	BodyCut              bool   // the response may have more than Body
}
