// Package certificates provides the certificates of a server that does TLS itself: from a certificate authority, by the
// ACME protocol, or from files. See docs/decisions/0060-https-without-another-program.md.
package certificates

import (
	"crypto/tls"
	"errors"
)

// errUnavailable is the error of a handshake for a name that has no certificate yet.
var errUnavailable = errors.New("the certificate is not available yet")

// ChallengeProtocol is the application protocol of validations by the certificate authority (RFC 8737). A server with a
// Manager has to support it.
const ChallengeProtocol = "acme-tls/1"

// TLSConfig returns the configuration of a TLS server: version 1.2 or later, with authenticated encryption and forward
// secrecy only. get returns the certificate for a handshake. If it returns nil and no error, the name is refused.
func TLSConfig(get func(*tls.ClientHelloInfo) (*tls.Certificate, error), protocols ...string) *tls.Config {
	return &tls.Config{
		GetCertificate: get,
		MinVersion:     tls.VersionTLS12,
		NextProtos:     append([]string{"h2", "http/1.1"}, protocols...),
		CipherSuites: []uint16{ // of TLS 1.2; the suites of TLS 1.3 are not configurable
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
	}
}
