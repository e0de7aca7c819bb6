package certificates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/allswell/allswell/internal/store"
)

// pauses are the times after a failed order until the next one for the same name, by the number of failures in a row. A
// domain whose DNS does not point at this server must not exhaust the limits of the certificate authority.
var pauses = []time.Duration{
	2 * time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// failures is what is known about failed orders for a name. All replicas share it.
type failures struct {
	Count   int       `json:"count"`
	RetryAt time.Time `json:"retry_at"`
}

// failuresFolder is the folder of the failures in the storage.
const failuresFolder = "failures"

// failuresPath returns the path of the failures in the storage.
func failuresPath(name string) string { return failuresFolder + "/" + certmagic.StorageKeys.Safe(name) }

// decide is the DecisionFunc of certmagic.OnDemandConfig.
func (m *Manager) decide(ctx context.Context, name string) error {
	if !m.serves(ctx, name) {
		return fmt.Errorf("%s is not a name of this installation", name)
	}
	return nil
}

// serves reports whether certificates may be obtained for a name.
func (m *Manager) serves(ctx context.Context, name string) bool {
	if name == m.host {
		return true
	}
	_, found := m.owner(ctx, name)
	return found
}

// observe is called by certmagic when something happens to the certificate of the base URL. certmagic itself pauses
// between failed attempts.
func (m *Manager) observe(ctx context.Context, event string, data map[string]any) error {
	name, _ := data["identifier"].(string)
	renewal, _ := data["renewal"].(bool)
	switch event {
	case "cert_obtaining":
		m.log.Info("obtaining a certificate", "name", name, "renewal", renewal)
	case "cert_obtained":
		m.log.Info("certificate obtained", "name", name, "renewal", renewal, "issuer", data["issuer"])
	case "cert_failed":
		m.log.Log(ctx, slog.LevelWarn, "obtaining a certificate failed", "name", name, "renewal", renewal, "error",
			data["error"])
	}
	return nil
}

// observeOnDemand is observe for all other names, and for the base URL during handshakes. It refuses orders while the
// pause after a failure lasts. certmagic holds the lock of the name meanwhile.
func (m *Manager) observeOnDemand(ctx context.Context, event string, data map[string]any) error {
	name, _ := data["identifier"].(string)
	switch event {
	case "cert_obtaining":
		f, err := m.failures(ctx, name)
		if err != nil {
			return err
		}
		if wait := time.Until(f.RetryAt); wait > 0 {
			return certmagic.ErrNoRetry{
				Err: fmt.Errorf("the last order failed: the next one is made in %s", wait.Round(time.Second)),
			}
		}
		owner, _ := m.owner(ctx, name) // found: see decide
		now := time.Now()
		if m.orders.Full("", now) || !m.ordersOf.Take(owner, now).Allowed || !m.orders.Take("", now).Allowed {
			m.log.Warn("too many certificates were ordered: this one must wait", "name", name, "workspace", owner)
			return certmagic.ErrNoRetry{Err: errors.New("too many orders")}
		}
	case "cert_obtained":
		if err := m.storage.Delete(ctx, failuresPath(name)); err != nil {
			m.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "forgetting failed orders failed", "name", name,
				"error", err)
		}
	case "cert_failed":
		m.countFailure(context.WithoutCancel(ctx), name)
	}
	return m.observe(ctx, event, data)
}

// failures returns what is known about failed orders for a name.
func (m *Manager) failures(ctx context.Context, name string) (f failures, err error) {
	content, err := m.storage.Load(ctx, failuresPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &f)
	}
	return f, err
}

// countFailure records a failed order.
func (m *Manager) countFailure(ctx context.Context, name string) {
	f, err := m.failures(ctx, name)
	if err == nil {
		f.RetryAt = time.Now().Add(pauses[min(f.Count, len(pauses)-1)])
		f.Count++
		var content []byte
		if content, err = json.Marshal(f); err == nil {
			err = m.storage.Store(ctx, failuresPath(name), content)
		}
	}
	if err != nil {
		m.log.Log(ctx, store.LogLevel(err, slog.LevelWarn), "recording a failed order failed", "name", name, "error",
			err)
	}
}

// deleteFailures deletes the failures of names for which no order has failed since before. A name that never gets a
// certificate, for example because its page has gone, would otherwise keep them forever.
func (m *Manager) deleteFailures(ctx context.Context, before time.Time) error {
	paths, err := m.storage.List(ctx, failuresFolder, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, path := range paths {
		info, statErr := m.storage.Stat(ctx, path)
		switch {
		case statErr != nil:
			err = errors.Join(err, statErr)
		case info.Modified.Before(before):
			err = errors.Join(err, m.storage.Delete(ctx, path))
		}
	}
	return err
}
