package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// ImportSubscribers subscribes email addresses, phones and chats to a page in one transaction, and returns what
// happened to each line. Lines that cannot be added do not affect the others. It returns a *kernel.ValidationError
// if the list as a whole, or the consent, is invalid. A dry run returns the same report and changes nothing.
func (s *Store) ImportSubscribers(
	ctx context.Context, actor kernel.Actor, slug string, n audience.SubscriberImport,
	save ...SaveResponse[audience.SubscriberImportReport],
) (audience.SubscriberImportReport, error) {
	checked, err := n.Check()
	if err != nil {
		return audience.SubscriberImportReport{}, err
	}
	report := func(c *session) (audience.SubscriberImportReport, error) {
		p, err := c.pageBySlug(actor, slug)
		r := audience.SubscriberImportReport{
			PageID: p.ID, PageName: p.Name, Consent: n.Consent, Confirmed: n.Confirmed, DryRun: n.DryRun,
			Lines: slices.Clone(checked),
		}
		if err == nil {
			err = c.checkImportLines(p, r.Lines)
		}
		return r, err
	}
	if n.DryRun {
		return read(ctx, s, report)
	}
	try := func() (audience.SubscriberImportReport, error) {
		return writeAs(ctx, s, actor, func(t *tx) (audience.SubscriberImportReport, error) {
			r, err := report(&t.session)
			if err == nil && r.Count(audience.ImportAdded) > 0 {
				err = t.importSubscribers(actor, r)
			}
			return r, err
		}, save...)
	}
	r, err := try()
	if err != nil && s.db.IsDuplicate(err) {
		r, err = try() // another transaction added one of the addresses
	}
	return r, err
}

// checkImportLines refuses the lines whose address is subscribed or has unsubscribed, or whose components cannot be
// chosen, and resolves the components of the others.
func (c *session) checkImportLines(p statuspage.Page, lines []audience.ImportLine) error {
	pageID := p.ID
	if err := c.refuseWithoutSMS(p.WorkspaceID, lines); err != nil {
		return err
	}
	targets := make(map[audience.Channel][]string) // by channels whose targets are not secret
	var keys, hashes []string
	for _, l := range lines {
		if l.Result == audience.ImportAdded {
			hash := targetHash(pageID, l.Channel, l.Address)
			hashes = append(hashes, hash)
			if l.Channel.Secret() {
				keys = append(keys, hash)
			} else {
				targets[l.Channel] = append(targets[l.Channel], l.Target)
			}
		}
	}
	// A subquery for each value, because the plan of a join depends on statistics, which lag behind a large import.
	subscribed := make(map[audience.Channel]map[string]bool)
	for channel, of := range targets {
		found, err := c.set(`WITH wanted (target) AS EACH($3) SELECT coalesce((SELECT s.target FROM subscribers s
			WHERE s.page_id = $1 AND s.channel = $2 AND s.target = wanted.target), '') FROM wanted`, pageID,
			string(channel), list(of))
		if err != nil {
			return err
		}
		subscribed[channel] = found
	}
	known, err := c.set(`WITH wanted (key) AS EACH($1) SELECT coalesce((SELECT s.target_key FROM subscribers s
			WHERE s.target_key = wanted.key AND s.target_key <> ''), '') FROM wanted`, list(keys))
	if err != nil {
		return err
	}
	ended, err := c.set(`WITH wanted (hash) AS EACH($2) SELECT coalesce((SELECT u.target_hash FROM unsubscriptions u
			WHERE u.page_id = $1 AND u.target_hash = wanted.hash), '') FROM wanted`, pageID, list(hashes))
	if err != nil {
		return err
	}
	components, err := c.choosableComponents(pageID)
	if err != nil {
		return err
	}
	for i := range lines {
		l := &lines[i]
		if l.Result != audience.ImportAdded {
			continue
		}
		ids, ok := resolveChosen(components, l.Components)
		switch {
		case subscribed[l.Channel][l.Target], known[targetHash(pageID, l.Channel, l.Address)]:
			l.Refuse(audience.ImportSubscribed, "The address is subscribed already.")
		case ended[targetHash(pageID, l.Channel, l.Address)]:
			l.Refuse(audience.ImportUnsubscribed, "The owner has unsubscribed, and can subscribe again on the page.")
		case !ok:
			l.Refuse(audience.ImportInvalid, "The components must be of this page, and not hidden.")
		default:
			l.Components = ids
		}
	}
	return nil
}

// refuseWithoutSMS refuses the phones of an import if no SMS can be sent to them.
func (c *session) refuseWithoutSMS(workspaceID string, lines []audience.ImportLine) error {
	isPhone := func(l audience.ImportLine) bool {
		return l.Channel == audience.ChannelSMS && l.Result == audience.ImportAdded
	}
	if !slices.ContainsFunc(lines, isPhone) {
		return nil
	}
	err := c.checkSMS(workspaceID)
	bad := (*kernel.ValidationError)(nil)
	if !errors.As(err, &bad) {
		return err
	}
	for i := range lines {
		if isPhone(lines[i]) {
			lines[i].Refuse(audience.ImportInvalid, bad.Messages()["channel"][0])
		}
	}
	return nil
}

// set returns the strings that a query selects.
func (c *session) set(query string, args ...any) (map[string]bool, error) {
	values, err := database.Query(c.Session, database.ScanString, query, args...)
	set := make(map[string]bool, len(values))
	for _, v := range values {
		set[v] = true
	}
	return set, err
}

// choosableComponents returns the ids of the components of a page that are not hidden, by id and by slug.
func (c *session) choosableComponents(pageID string) (map[string]string, error) {
	ids := make(map[string]string)
	_, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var id, slug string
		err = row.Scan(&id, &slug)
		ids[id], ids[slug] = id, id
		return
	}, `SELECT id, slug FROM components WHERE page_id = $1 AND NOT hidden`, pageID)
	return ids, err
}

// resolveChosen returns the sorted ids of components. ok is false if one of them cannot be chosen.
func resolveChosen(components map[string]string, refs []string) (ids []string, ok bool) {
	for _, ref := range refs {
		id := components[ref]
		if id == "" {
			return nil, false
		}
		ids = append(ids, id)
	}
	return slices.Compact(slices.Sorted(slices.Values(ids))), true
}

// importSubscribers saves the lines of an import that are added.
func (t *tx) importSubscribers(actor kernel.Actor, r audience.SubscriberImportReport) error {
	by := actor.Name
	if by == "" {
		by = string(actor.Kind)
	}
	var subs []audience.Subscriber
	for _, l := range r.Lines {
		if l.Result == audience.ImportAdded {
			sub := t.newSubscriber(r.PageID, audience.NewSubscriber{
				Channel: l.Channel, Target: l.Address, Components: l.Components, Confirmed: r.Confirmed,
			}, true)
			sub.Consent, sub.ConsentBy = r.Consent, by
			subs = append(subs, sub)
		}
	}
	if err := t.saveNewSubscribers(subs); err != nil {
		return err
	}
	return t.audit(actor, kernel.AuditImport, nil, r)
}

// targetHash returns the hash that is stored of an address whose owner has unsubscribed. It differs on every page.
func targetHash(pageID string, channel audience.Channel, target string) string {
	sum := sha256.Sum256([]byte(pageID + "\n" + string(channel) + "\n" + target))
	return hex.EncodeToString(sum[:])
}

// targetHashOf is targetHash for the target of a subscriber.
func targetHashOf(sub audience.Subscriber) string {
	if sub.TargetKey != "" {
		return sub.TargetKey
	}
	return targetHash(sub.PageID, sub.Channel, sub.Target)
}

// rememberUnsubscription notes that the owner of a target has ended the subscription.
func (t *tx) rememberUnsubscription(sub audience.Subscriber) error {
	_, err := t.Exec(`INSERT INTO unsubscriptions (page_id, target_hash, created_at) VALUES ($1, $2, $3)
		ON CONFLICT DO NOTHING`, sub.PageID, targetHashOf(sub), millis(t.Now))
	return err
}

// forgetUnsubscription is called when a subscription is confirmed.
func (t *tx) forgetUnsubscription(sub audience.Subscriber) error {
	_, err := t.Exec(`DELETE FROM unsubscriptions WHERE page_id = $1 AND target_hash = $2`,
		sub.PageID, targetHashOf(sub))
	return err
}
