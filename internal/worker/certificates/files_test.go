package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write writes a new certificate and its key.
func write(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"status.example.com"},
		NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFilesAreReloaded checks that changed files are used, and that invalid files do not replace the certificate.
func TestFilesAreReloaded(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	_, err := LoadFiles(cert, key, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), cert) {
		t.Errorf("missing files: %v", err)
	}
	write(t, cert, key, 1)
	var log bytes.Buffer
	f, err := LoadFiles(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	uses := func(serial int64, lines int) {
		t.Helper()
		f.Reload()
		f.Reload() // logs nothing more
		c, err := f.GetCertificate(&tls.ClientHelloInfo{ServerName: "status.example.com"})
		if err != nil || c.Leaf.SerialNumber.Int64() != serial {
			t.Errorf("uses %v, %v; want %d", c.Leaf.SerialNumber, err, serial)
		}
		if got := strings.Count(log.String(), "\n"); got != lines {
			t.Errorf("the log has %d lines, want %d:\n%s", got, lines, log.String())
		}
	}
	uses(1, 0)
	write(t, cert, key, 2)
	uses(2, 1)
	write(t, cert, filepath.Join(dir, "other.pem"), 3) // not with this key
	uses(2, 2)
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	uses(2, 3)
	if err := os.WriteFile(cert, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	uses(2, 4)
	write(t, cert, key, 4)
	uses(4, 5)
}
