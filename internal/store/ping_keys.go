package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// PingKey returns the ping key of a page.
func (s *Store) PingKey(ctx context.Context, actor kernel.Actor, slug string) (monitor.PingKey, error) {
	return read(ctx, s, func(c *session) (monitor.PingKey, error) {
		p, err := c.pageBySlug(actor, slug)
		if err != nil {
			return monitor.PingKey{}, err
		}
		return c.pingKey(p.ID)
	})
}

// pingKey loads the ping key of a page.
func (c *session) pingKey(pageID string) (monitor.PingKey, error) {
	k, err := database.One(c.Session, func(row database.Row) (k monitor.PingKey, err error) {
		err = row.Scan(&k.Key, &k.Access, instant{&k.CreatedAt}, instant{&k.PreviousUntil})
		return
	}, `SELECT ping_key, access, created_at, (SELECT max(ends_at) FROM ping_keys old
		WHERE old.page_id = ping_keys.page_id AND old.ends_at > $2)
		FROM ping_keys WHERE page_id = $1 AND ends_at IS NULL`, pageID, millis(c.Now))
	if errors.Is(err, kernel.ErrNotFound) {
		return monitor.PingKey{Access: monitor.PingAccessOff}, nil
	}
	return k, err
}

// ChangePingKey changes what the ping key of a page allows, makes the key, or removes it. A new key is random unless ch
// has one; the error is a *kernel.ValidationError if a page has that, or if the page has another key.
func (s *Store) ChangePingKey(
	ctx context.Context, actor kernel.Actor, slug string, ch monitor.PingKeyChange,
) (monitor.PingKey, error) {
	if err := ch.Validate(); err != nil {
		return monitor.PingKey{}, err
	}
	change := func(t *tx) (monitor.PingKey, error) {
		p, err := t.lockPage(actor, slug)
		if err != nil {
			return monitor.PingKey{}, err
		}
		before, err := t.pingKey(p.ID)
		if err != nil {
			return before, err
		}
		after, err := t.changePingKey(p, before, ch)
		if err != nil {
			return after, err
		}
		return after,
			t.audit(actor, kernel.AuditUpdate, monitor.PageWithPingKey{Page: p, PingKey: before},
				monitor.PageWithPingKey{Page: p, PingKey: after})
	}
	k, err := writeAs(ctx, s, actor, change)
	if err != nil && s.db.IsDuplicate(err) { // another page got the key meanwhile
		return writeAs(ctx, s, actor, change)
	}
	return k, err
}

// changePingKey changes the ping key of a locked page.
func (t *tx) changePingKey(
	p statuspage.Page, before monitor.PingKey, ch monitor.PingKeyChange,
) (after monitor.PingKey, err error) {
	after = before
	if ch.Access != nil {
		after.Access = *ch.Access
	} else if before.Key == "" && ch.Key != nil {
		after.Access = monitor.PingAccessPingOnly
	}
	switch {
	case after.Access == monitor.PingAccessOff:
		_, err = t.Exec(`DELETE FROM ping_keys WHERE page_id = $1`, p.ID)
		return monitor.PingKey{Access: monitor.PingAccessOff}, err
	case before.Key != "" && ch.Key != nil && *ch.Key != before.Key:
		var bad kernel.ValidationError
		bad.Add("key", "The page has another key. Turn it off before you give one.")
		return before, bad.Err()
	case before.Key != "":
		_, err = t.Exec(`UPDATE ping_keys SET access = $2 WHERE page_id = $1`, p.ID, string(after.Access))
		return after, err
	}
	after.Key, after.CreatedAt = monitor.NewPingKey(), t.Now
	if ch.Key != nil {
		after.Key = *ch.Key
		taken, err := database.One(t.Session, database.ScanInt,
			`SELECT count(*) FROM ping_keys WHERE ping_key = $1 AND (ends_at IS NULL OR ends_at > $2)`, after.Key,
			millis(t.Now))
		if err != nil {
			return before, err
		}
		if taken > 0 {
			var bad kernel.ValidationError
			bad.Add("key", "has already been taken")
			return before, bad.Err()
		}
	}
	return after, t.addPingKey(p, after)
}

// addPingKey saves a new ping key of a page.
func (t *tx) addPingKey(p statuspage.Page, k monitor.PingKey) error {
	_, err := t.Exec(`DELETE FROM ping_keys WHERE ping_key = $1 AND ends_at <= $2`, k.Key, millis(t.Now))
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO ping_keys (ping_key, page_id, workspace_id, access, created_at)
		VALUES ($1, $2, $3, $4, $5)`, k.Key, p.ID, p.WorkspaceID, string(k.Access), millis(k.CreatedAt))
	t.addEffect(effectPingToken, k.Key)
	return err
}

// RotatePingKey gives a page a new ping key. The old one stays valid for PingTokenOverlap; the key before it becomes
// invalid. The error is kernel.ErrNotFound if the page has none.
func (s *Store) RotatePingKey(
	ctx context.Context, actor kernel.Actor, slug string, save ...SaveResponse[monitor.PingKey],
) (monitor.PingKey, error) {
	return writeAs(ctx, s, actor, func(t *tx) (monitor.PingKey, error) {
		p, err := t.lockPage(actor, slug)
		if err != nil {
			return monitor.PingKey{}, err
		}
		k, err := t.pingKey(p.ID)
		if err == nil && k.Key == "" {
			err = kernel.ErrNotFound
		}
		if err != nil {
			return k, err
		}
		before := k
		k.Key, k.CreatedAt, k.PreviousUntil = monitor.NewPingKey(), t.Now, t.Now.Add(PingTokenOverlap)
		if _, err = t.Exec(`DELETE FROM ping_keys WHERE page_id = $1 AND ends_at IS NOT NULL`, p.ID); err == nil {
			_, err = t.Exec(`UPDATE ping_keys SET ends_at = $2 WHERE page_id = $1`, p.ID, millis(k.PreviousUntil))
		}
		if err == nil {
			err = t.addPingKey(p, k)
		}
		if err != nil {
			return k, err
		}
		return k,
			t.audit(actor, kernel.AuditRotate, monitor.PageWithPingKey{Page: p, PingKey: before},
				monitor.PageWithPingKey{Page: p, PingKey: k})
	}, save...)
}

// resolveAddresses replaces ping addresses by ping tokens. Addresses of no monitor, and tokens, are left unchanged. The
// transaction that records pings calls it, so that no ping is recorded for a monitor that has left the page.
func (t *tx) resolveAddresses(addresses []string) ([]string, error) {
	var slugs []string
	for _, address := range addresses {
		if isSlugAddress(address) {
			slugs = append(slugs, address)
		}
	}
	if len(slugs) == 0 {
		return addresses, nil
	}
	found, err := database.Query(t.Session, func(row database.Row) (pair [2]string, err error) {
		err = row.Scan(&pair[0], &pair[1])
		return
	}, tokensOfAddresses, list(slugs), millis(t.Now))
	if err != nil {
		return nil, err
	}
	tokens := make(map[string]string, len(found))
	for _, pair := range found {
		tokens[pair[0]] = pair[1]
	}
	resolved := slices.Clone(addresses)
	for i, address := range addresses {
		if token, ok := tokens[address]; ok {
			resolved[i] = token
		}
	}
	return resolved, nil
}

// tokensOfAddresses selects the tokens of monitors by their ping addresses: $1 is a list of these, $2 is now. A ping
// key has 22 characters, which a slash follows. The monitor is found by the index of slugs.
const tokensOfAddresses = `WITH given (address) AS EACH($1)
	SELECT given.address, monitors.token FROM given
	JOIN ping_keys ON ping_keys.ping_key = substr(given.address, 1, 22) AND (ping_keys.ends_at IS NULL
	OR ping_keys.ends_at > $2)
	JOIN monitors ON monitors.workspace_id = ping_keys.workspace_id AND monitors.slug = substr(given.address, 24)
	AND monitors.page_id = ping_keys.page_id`

// distinctTokens returns the tokens of ping addresses, each once. tokenOf has the index of each address's token among
// them; it is nil if the addresses are the tokens.
func (t *tx) distinctTokens(addresses []string) (tokens []string, tokenOf []int32, err error) {
	resolved, err := t.resolveAddresses(addresses)
	if err != nil || !slices.ContainsFunc(addresses, isSlugAddress) {
		return resolved, nil, err
	}
	index := make(map[string]int32, len(resolved))
	tokenOf = make([]int32, len(resolved))
	for i, token := range resolved {
		at, ok := index[token]
		if !ok {
			at = int32(len(tokens))
			index[token], tokens = at, append(tokens, token)
		}
		tokenOf[i] = at
	}
	return tokens, tokenOf, nil
}

func isSlugAddress(address string) bool {
	_, _, ok := monitor.CutSlugAddress(address)
	return ok
}

// resultsByAddress returns the results of addresses, given the results of their tokens and tokenOf of distinctTokens.
func resultsByAddress(results []PingResult, tokenOf []int32) []PingResult {
	if tokenOf == nil {
		return results
	}
	all := make([]PingResult, len(tokenOf))
	for i, at := range tokenOf {
		all[i] = results[at]
	}
	return all
}

// byToken changes the origins of pings from the indexes of addresses to the indexes of tokens, given tokenOf of
// distinctTokens.
func (o PingOrigins) byToken(tokenOf []int32) PingOrigins {
	if tokenOf == nil {
		return o
	}
	pings := slices.Clone(o.Pings)
	for i, p := range pings {
		pings[i].Token = tokenOf[p.Token]
	}
	o.Pings = pings
	return o
}

// ProvisionResult is the result of a first contact.
type ProvisionResult int

// The results of a first contact.
const (
	ProvisionUnknown ProvisionResult = iota // no such key, or the monitor is disabled
	ProvisionCreated
	ProvisionExists  // the page has the monitor
	ProvisionRefused // the key is only for pings
	ProvisionTaken   // a monitor of the workspace that is not on the page has the slug
	ProvisionTooMany // in this minute
	ProvisionFull    // the page has monitor.MaxProvisioned monitors
)

// HasPingKey reports whether a page has the key of a ping address, or had it lately.
func (s *Store) HasPingKey(ctx context.Context, address string) (bool, error) {
	key, _, _ := monitor.CutSlugAddress(address)
	n, err := s.count(ctx, `SELECT count(*) FROM ping_keys WHERE ping_key = $1`, key)
	return n > 0, err
}

// Provision creates the monitor with a ping address, which is made of a ping key and a slug, unless it exists. change
// configures it; its page and its slug come from the address. The error is a *kernel.ValidationError if the
// configuration is invalid.
func (s *Store) Provision(ctx context.Context, address string, change monitor.MonitorChange) (ProvisionResult, error) {
	key, slug, ok := monitor.CutSlugAddress(address)
	if !ok {
		return ProvisionUnknown, nil
	}
	provision := func(t *tx) (ProvisionResult, error) { return t.provision(key, slug, change) }
	result, err := write(ctx, s, provision)
	if err != nil && s.db.IsDuplicate(err) { // somebody has created it meanwhile
		return write(ctx, s, provision)
	}
	return result, err
}

// provision implements Store.Provision.
func (t *tx) provision(key, slug string, change monitor.MonitorChange) (ProvisionResult, error) {
	type keyRow struct {
		page, workspace string
		access          monitor.PingAccess
	}
	k, err := database.One(t.Session, func(row database.Row) (k keyRow, err error) {
		err = row.Scan(&k.page, &k.workspace, &k.access)
		return
	}, `SELECT page_id, workspace_id, access FROM ping_keys WHERE ping_key = $1 AND (ends_at IS NULL OR ends_at > $2)`,
		key, millis(t.Now))
	if errors.Is(err, kernel.ErrNotFound) {
		return ProvisionUnknown, nil
	}
	if err != nil {
		return ProvisionUnknown, err
	}
	// so that the limits are exact
	page, err := database.One(t.Session, database.ScanString, `SELECT slug FROM pages WHERE id = $1 FOR UPDATE`, k.page)
	if err != nil {
		return ProvisionUnknown, err
	}
	m, err := t.monitor(`WHERE workspace_id = $1 AND slug = $2`, k.workspace, slug)
	switch {
	case err == nil && (m.PageID != k.page || m.IsCheck()):
		return ProvisionTaken, nil
	case err == nil && m.Enabled:
		return ProvisionExists, nil
	case err == nil:
		return ProvisionUnknown, nil
	case !errors.Is(err, kernel.ErrNotFound):
		return ProvisionUnknown, err
	case k.access != monitor.PingAccessReadWrite:
		return ProvisionRefused, nil
	}
	for _, limit := range []struct {
		most    int64
		since   time.Time
		reached ProvisionResult
	}{
		{monitor.MaxProvisioned, time.UnixMilli(0), ProvisionFull},
		{monitor.MaxProvisionedPerMinute, t.Now.Add(-time.Minute), ProvisionTooMany},
	} {
		count, err := database.One(t.Session, database.ScanInt,
			`SELECT count(*) FROM monitors WHERE page_id = $1 AND created_at > $2`, k.page, millis(limit.since))
		if err != nil {
			return ProvisionUnknown, err
		}
		if count >= limit.most {
			return limit.reached, nil
		}
	}
	_, err = t.createMonitor(kernel.SystemActor("ping key", k.workspace), func(c *monitor.MonitorConfig) error {
		err := change(c)
		c.PageSlug, c.Slug = page, slug
		return err
	}, false)
	return ProvisionCreated, err
}
