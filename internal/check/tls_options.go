package check

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// tlsOptions has the fields of all types of checks that can use TLS.
type tlsOptions struct {
	expiry
	Insecure          bool   `json:"insecure"`
	CACertificates    string `json:"ca_certificates,omitzero"`
	ClientCertificate string `json:"client_certificate,omitzero"`

	config *tls.Config
}

// prepare checks the fields, and makes the configuration for a server's name; "": the name is set for each connection.
func (o *tlsOptions) prepare(bad *kernel.ValidationError, name string) {
	o.check(bad)
	o.config = &tls.Config{ServerName: name, InsecureSkipVerify: o.Insecure, VerifyConnection: refuseNegativeSerials}
	if o.Insecure {
		o.config.MinVersion, o.config.CipherSuites, o.config.VerifyConnection = tls.VersionTLS10, allCipherSuites(), nil
	}
	if o.CACertificates != "" {
		o.config.RootCAs = x509.NewCertPool()
		if !o.config.RootCAs.AppendCertsFromPEM([]byte(o.CACertificates)) {
			bad.Add("ca_certificates", "must be certificates in PEM format")
		}
	}
	if o.ClientCertificate != "" {
		pair, err := tls.X509KeyPair([]byte(o.ClientCertificate), []byte(o.ClientCertificate))
		if err != nil {
			bad.Add("client_certificate", "must be a certificate and its private key, both in PEM format")
		}
		o.config.Certificates = []tls.Certificate{pair}
	}
}

// judgeExpiry judges the certificates of a target that works. With insecure, an expired certificate is a failure only
// if down_days is set.
func (o *tlsOptions) judgeExpiry(out *Outcome, now time.Time) {
	o.expiry.judgeExpiry(out, now)
	if o.Insecure && o.DownDays == 0 && out.Failure != "" {
		if o.WarnDays > 0 {
			out.Warning = out.Failure
		}
		out.Failure = ""
	}
}

// errNegativeSerial means that a certificate violates RFC 5280. A setting in go.mod lets Go parse such certificates, so
// that checks with insecure can accept them.
var errNegativeSerial = errors.New("negative serial number")

func refuseNegativeSerials(s tls.ConnectionState) error {
	for _, c := range s.PeerCertificates {
		if c.SerialNumber.Sign() < 0 {
			return errNegativeSerial
		}
	}
	return nil
}

// allCipherSuites returns all cipher suites, including RSA key exchange, RC4 and 3DES, which old servers need.
func allCipherSuites() []uint16 {
	var all []uint16
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		all = append(all, suite.ID)
	}
	return all
}
