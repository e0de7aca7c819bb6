package check

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// TestOldServers checks that insecure also reaches servers with certificates and ciphers of old, and that others are
// told why they are not reached.
func TestOldServers(t *testing.T) {
	a := newAuthority(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), NotAfter: time.Now().Add(24 * 60 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	rsaOnly := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	negative, _ := a.issue(t, 60*24*time.Hour)
	negative.Certificate = [][]byte{negateSerial(t, a, negative)}
	for _, c := range []struct {
		config  *tls.Config
		failure string
	}{
		{&tls.Config{
			Certificates: []tls.Certificate{rsaOnly}, MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA},
		}, "RSA key exchange"},
		{&tls.Config{
			Certificates: []tls.Certificate{rsaOnly}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
		}, "version"},
		{&tls.Config{Certificates: []tls.Certificate{negative}}, "negative serial number"},
	} {
		port := serveTLS(t, c.config)
		given := []any{"host", "127.0.0.1", "port", port}
		expectGood(t, runOnce(t, "tls", fields(t, append(given, "insecure", true)...)))
		o := runOnce(t, "tls", fields(t, append(given, "ca_certificates", a.pem)...))
		if expectPlain(t, o); !strings.Contains(o.Failure, c.failure) {
			t.Errorf("failure %q, want %q", o.Failure, c.failure)
		}
	}
}

// negateSerial returns a certificate with a negative serial number, which crypto/x509 does not make.
func negateSerial(t *testing.T, a *authority, of tls.Certificate) []byte {
	t.Helper()
	var outer struct {
		TBS       asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(of.Certificate[0], &outer); err != nil {
		t.Fatal(err)
	}
	// then the serial number 2
	version := bytes.Index(outer.TBS.Bytes, []byte{0xa0, 3, asn1.TagInteger, 1, 2, asn1.TagInteger, 1, 2})
	outer.TBS.Bytes[version+7] = 0x82
	outer.TBS.FullBytes = nil
	tbs, err := asn1.Marshal(outer.TBS)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(tbs)
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	outer.TBS, outer.Signature = asn1.RawValue{FullBytes: tbs},
		asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	der, err := asn1.Marshal(outer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
