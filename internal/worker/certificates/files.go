package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// filesInterval is how often the files are read to see whether they have changed.
const filesInterval = 10 * time.Second

// Files is a certificate chain and its key from two PEM files, which are read again when they change.
type Files struct {
	certFile, keyFile string
	log               *slog.Logger
	current           atomic.Pointer[tls.Certificate]
	cert, key         []byte // as last read; used by one goroutine at a time
}

// LoadFiles reads the files. The error names the file that cannot be read, or both if they are not a certificate and
// its key.
func LoadFiles(certFile, keyFile string, log *slog.Logger) (*Files, error) {
	f := &Files{certFile: certFile, keyFile: keyFile, log: log}
	_, err := f.load()
	return f, err
}

// GetCertificate returns the certificate, for tls.Config.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.current.Load(), nil
}

// Expiry returns when the certificate expires.
func (f *Files) Expiry() time.Time { return f.current.Load().Leaf.NotAfter }

// Run calls Reload every filesInterval until ctx ends.
func (f *Files) Run(ctx context.Context) {
	ticker := time.NewTicker(filesInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.Reload()
		}
	}
}

// Reload reads the files. If they have changed and are valid, later handshakes get the new certificate. If they are not
// valid, the certificate is kept; each invalid content is logged once.
func (f *Files) Reload() {
	switch changed, err := f.load(); {
	case !changed:
	case err != nil:
		f.log.Error("the certificate files have changed and are invalid: the previous certificate stays", "error", err)
	default:
		f.log.Info("the certificate files have changed: the new certificate is used", "expires", f.Expiry())
	}
}

// load reads the files and reports whether their content differs from the last time.
func (f *Files) load() (changed bool, err error) {
	cert, errCert := os.ReadFile(f.certFile)
	key, errKey := os.ReadFile(f.keyFile)
	if bytes.Equal(cert, f.cert) && bytes.Equal(key, f.key) && f.current.Load() != nil {
		return false, nil
	}
	f.cert, f.key = cert, key
	switch {
	case errCert != nil:
		return true, errCert
	case errKey != nil:
		return true, errKey
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return true, fmt.Errorf("%s and %s: %w", f.certFile, f.keyFile, err)
	}
	f.current.Store(&pair)
	return true, nil
}
