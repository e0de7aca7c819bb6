// Package pebble runs Pebble, a certificate authority for tests of ACME clients, on ports of the loopback interface.
package pebble

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/allswell/allswell/test/dnsserver"
	"github.com/allswell/allswell/test/freeport"
	"github.com/allswell/allswell/test/subprocess"
)

// Require is the environment variable that, set to 1, makes a test fail instead of skip where Pebble is not installed.
const Require = "ALLSWELL_TEST_REQUIRE_PEBBLE"

// startTimeout is the maximum time until Pebble answers, on a machine that is busy with other tests.
const startTimeout = 30 * time.Second

// Server is a running Pebble. It believes that every name has the address 127.0.0.1.
type Server struct {
	Directory string         // URL of its ACME directory
	CAFile    string         // PEM file with the root certificate of the directory's own certificate
	CA        *x509.CertPool // the same
	Roots     *x509.CertPool // of the certificates that it issues

	t       testing.TB
	process *subprocess.Process
	logFile string
}

// Start starts Pebble, which ends with the test. It validates names at the two ports of 127.0.0.1.
func Start(t testing.TB, httpPort, tlsPort int) *Server {
	t.Helper()
	path, err := exec.LookPath("pebble")
	if err != nil {
		if os.Getenv(Require) == "1" {
			t.Fatal("pebble is not installed")
		}
		t.Skip("pebble is not installed")
	}
	dir := t.TempDir()
	s := &Server{t: t, CAFile: filepath.Join(dir, "ca.pem"), logFile: filepath.Join(dir, "log")}
	keyFile := filepath.Join(dir, "key.pem")
	s.CA = selfSigned(t, s.CAFile, keyFile)
	address, management := freeport.Address(t), freeport.Address(t)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": address, "managementListenAddress": management, "certificate": s.CAFile, "privateKey": keyFile,
		"httpPort": httpPort, "tlsPort": tlsPort,
	}})
	if err != nil {
		t.Fatal(err)
	}
	configFile := filepath.Join(dir, "config.json")
	if err := os.WriteFile(configFile, config, 0o600); err != nil {
		t.Fatal(err)
	}
	names := dnsserver.New(t)
	names.Resolve([4]byte{127, 0, 0, 1})
	log, err := os.Create(s.logFile)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(path, "-config", configFile, "-dnsserver", names.Address())
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0", "PEBBLE_AUTHZREUSE=0")
	cmd.Stdout, cmd.Stderr = log, log
	if s.process, err = subprocess.Start(cmd, "KILL", ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("Pebble's log:\n%s", s.log())
		}
	})
	s.Directory = "https://" + address + "/dir"
	s.await(s.Directory)
	s.Roots = x509.NewCertPool()
	if !s.Roots.AppendCertsFromPEM(s.await("https://" + management + "/roots/0")) {
		t.Fatal("Pebble has no root certificate")
	}
	return s
}

// Stop ends Pebble.
func (s *Server) Stop() {
	s.process.Signal(syscall.SIGKILL) // fails if it has ended
	<-s.process.Gone()
}

// Orders returns how many certificates were ordered.
func (s *Server) Orders() int { return strings.Count(s.log(), "POST /order-plz") }

// Issued returns how many certificates were issued. An order whose first challenge fails is followed by another one.
func (s *Server) Issued() int { return strings.Count(s.log(), "Issued certificate serial") }

func (s *Server) log() string {
	text, err := os.ReadFile(s.logFile)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// await requests a URL until it is answered, and returns the answer.
func (s *Server) await(url string) []byte {
	s.t.Helper()
	client := &http.Client{
		Timeout: time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.CA}},
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(s.t.Context(), startTimeout)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		res, err := client.Get(url)
		if err == nil {
			body, errRead := io.ReadAll(res.Body)
			res.Body.Close()
			if err = errRead; err == nil && res.StatusCode == http.StatusOK {
				return body
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			s.t.Fatalf("Pebble does not answer: %v\n%s", err, s.log())
		}
	}
}

// selfSigned writes a certificate for 127.0.0.1 and its key.
func selfSigned(t testing.TB, certFile, keyFile string) *x509.CertPool {
	t.Helper()
	fatal := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fatal(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Pebble's directory"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	fatal(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	fatal(err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	fatal(os.WriteFile(certFile, certificate, 0o600))
	fatal(os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return pool
}
