package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store/database"
)

// subscriberTable has the subscribers of pages. What only the statements that set them change is fixed.
var subscriberTable = tableOf("subscribers", func(s audience.Subscriber) string { return s.ID },
	[]column[audience.Subscriber]{
		{name: "id", at: func(s *audience.Subscriber) any { return &s.ID }, fixed: true},
		{name: "page_id", at: func(s *audience.Subscriber) any { return &s.PageID }, fixed: true},
		{name: "channel", at: func(s *audience.Subscriber) any { return &s.Channel }, fixed: true},
		{name: "target", at: func(s *audience.Subscriber) any { return &s.Target }, fixed: true},
		{name: "target_key", at: func(s *audience.Subscriber) any { return &s.TargetKey }, fixed: true},
		{name: "key", at: func(s *audience.Subscriber) any { return &s.Key }, fixed: true},
		{name: "whole_page", at: func(s *audience.Subscriber) any { return &s.WholePage }},
		{name: "warnings", at: func(s *audience.Subscriber) any { return &s.Warnings }},
		{name: "code", at: func(s *audience.Subscriber) any { return &s.Code }, fixed: true, null: true},
		{name: "code_until_at", at: func(s *audience.Subscriber) any { return &s.CodeUntil }, fixed: true},
		{name: "code_attempts", at: func(s *audience.Subscriber) any { return &s.CodeAttempts }, fixed: true},
		{name: "secret", at: func(s *audience.Subscriber) any { return &s.Secret }, null: true},
		{name: "old_secret", at: func(s *audience.Subscriber) any { return &s.OldSecret }, null: true},
		{name: "old_secret_until_at", at: func(s *audience.Subscriber) any { return &s.OldSecretUntil }},
		{name: "secret_versions", at: func(s *audience.Subscriber) any { return versionsOf{&s.SecretVersions} }},
		{name: "confirmed_at", at: func(s *audience.Subscriber) any { return &s.ConfirmedAt }},
		{name: "suspended_at", at: func(s *audience.Subscriber) any { return &s.SuspendedAt }},
		{name: "suspension_reason", at: func(s *audience.Subscriber) any { return &s.SuspendedFor }, null: true},
		{name: "rejections", at: func(s *audience.Subscriber) any { return &s.Rejections }},
		{name: "mailed_at", at: func(s *audience.Subscriber) any { return &s.MailedAt }, fixed: true},
		{name: "created_at", at: func(s *audience.Subscriber) any { return &s.CreatedAt }, fixed: true},
		{name: "updated_at", at: func(s *audience.Subscriber) any { return &s.UpdatedAt }},
		{name: "added_by_operator", at: func(s *audience.Subscriber) any { return &s.AddedByOperator }, fixed: true},
		{name: "consent", at: func(s *audience.Subscriber) any { return &s.Consent }, fixed: true, null: true},
		{name: "consent_by", at: func(s *audience.Subscriber) any { return &s.ConsentBy }, fixed: true, null: true},
		{name: "incident_id", at: func(s *audience.Subscriber) any { return &s.IncidentID }, fixed: true, null: true},
	})

// fillChosen loads the components that subscribers have chosen.
func (c *session) fillChosen(subscribers []audience.Subscriber) error {
	ids := make([]string, len(subscribers))
	at := make(map[string]int, len(subscribers))
	for i, s := range subscribers {
		ids[i], at[s.ID] = s.ID, i
	}
	type choice struct{ subscriber, component string }
	chosen, err := database.Query(c.Session, func(row database.Row) (v choice, err error) {
		err = row.Scan(&v.subscriber, &v.component)
		return
	}, `SELECT subscriber_id, component_id FROM subscriber_components WHERE subscriber_id IN EACH($1)
		ORDER BY component_id`, list(ids))
	for _, v := range chosen {
		s := &subscribers[at[v.subscriber]]
		s.Components = append(s.Components, v.component)
	}
	return err
}

// subscriber loads the subscriber that where selects, with the chosen components.
func (c *session) subscriber(where string, args ...any) (audience.Subscriber, error) {
	s, err := database.One(c.Session, subscriberTable.scan,
		`SELECT `+subscriberTable.selected+` FROM subscribers `+where, args...)
	if err != nil {
		return s, err
	}
	one := []audience.Subscriber{s}
	err = c.fillChosen(one)
	return one[0], err
}

// subscriberOfKey is the condition for the subscriber with a key on a page.
const subscriberOfKey = `WHERE key = $1 AND page_id IN (SELECT id FROM pages WHERE slug = $2)`

// subscriberOfPage is the condition for the subscriber with an id on a page that the actor can reach. Its third
// argument is access.arg.
func (a access) subscriberOfPage() string {
	return `WHERE id = $1 AND page_id IN (SELECT id FROM pages WHERE slug = $2 AND ` + a.pages(3) + `)`
}

// SubscriberFilter selects subscribers. A zero field selects all.
type SubscriberFilter struct {
	Target   string // the whole target, or what is shown of it
	Contains string // a part of the target in any case; of a secret target, a part of what is shown, or all of it
	Channel  audience.Channel
	State    audience.SubscriberState
}

// subscriberStateConditions select the subscribers in each state; see audience.Subscriber.State.
var subscriberStateConditions = map[audience.SubscriberState]string{
	audience.SubscriberActive:      `confirmed_at IS NOT NULL AND suspended_at IS NULL`,
	audience.SubscriberUnconfirmed: `confirmed_at IS NULL`,
	audience.SubscriberSuspended:   `confirmed_at IS NOT NULL AND suspended_at IS NOT NULL`,
}

// Subscribers lists a page's subscribers that match the filter, newest first, and returns how many there are.
func (s *Store) Subscribers(
	ctx context.Context, actor kernel.Actor, slug string, f SubscriberFilter, r Pagination,
) ([]audience.Subscriber, int, error) {
	p, err := s.pageOf(ctx, actor, slug)
	if err != nil {
		return nil, 0, err
	}
	from, args := `FROM subscribers WHERE page_id = $1`, []any{p.ID}
	if f.Target != "" {
		shown, keys := secretTarget(p.ID, f.Target)
		from, args = withCondition(from, args, `channel IN EACH($%d)`, list(audience.Channels)) // for the index
		from, args = withCondition(from, args, `target IN EACH($%d)`, list([]string{f.Target, shown}))
		from, args = withCondition(from, args, `(target_key IN EACH($%d)`, list(keys))
		args = append(args, f.Target)
		from += fmt.Sprintf(` OR target = $%d)`, len(args))
	}
	if f.Contains != "" {
		_, keys := secretTarget(p.ID, f.Contains)
		from, args = withCondition(from, args, `(target_key IN EACH($%d)`, list(keys))
		args = append(args, strings.ToLower(f.Contains))
		from += fmt.Sprintf(` OR replace(lower(target), $%d, '') <> lower(target))`, len(args))
	}
	if f.Channel != "" {
		from, args = withCondition(from, args, `channel = $%d`, string(f.Channel))
	}
	if condition, ok := subscriberStateConditions[f.State]; ok {
		from += ` AND ` + condition
	}
	return listQuery[audience.Subscriber]{
		scan: subscriberTable.scan, fill: (*session).fillChosen, columns: subscriberTable.selected,
		from: from, args: args, order: `ORDER BY created_at DESC, id DESC`,
	}.load(ctx, s, r)
}

// secretTarget returns the shown part of a text, as if it were the target of a chat, and the keys that it would have on
// a page.
func secretTarget(pageID, text string) (shown string, keys []string) {
	for _, channel := range audience.ChatChannels {
		if n, err := (audience.NewSubscriber{Channel: channel, Target: text}).Check(); err == nil {
			shown, keys = channel.Shown(n.Target), append(keys, targetHash(pageID, channel, n.Target))
		}
	}
	return shown, keys
}

// SubscribersBefore returns all subscribers of a page, newest first: at most limit that are older than the subscriber
// with the id before, or the newest if before is "". more reports whether there are older ones. Subscriptions that
// begin or end meanwhile neither repeat nor hide others.
func (s *Store) SubscribersBefore(
	ctx context.Context, actor kernel.Actor, slug, before string, limit int,
) (subscribers []audience.Subscriber, more bool, err error) {
	p, err := s.pageOf(ctx, actor, slug)
	if err != nil {
		return nil, false, err
	}
	subscribers, err = read(ctx, s, func(c *session) ([]audience.Subscriber, error) {
		rows, err := database.Query(c.Session, subscriberTable.scan,
			`SELECT `+subscriberTable.selected+` FROM subscribers
			WHERE page_id = $1 AND ($2 = '' OR id < $2) ORDER BY id DESC LIMIT $3`, p.ID, before, limit+1)
		if err != nil {
			return nil, err
		}
		return rows, c.fillChosen(rows)
	})
	if len(subscribers) > limit {
		return subscribers[:limit], true, err
	}
	return subscribers, false, err
}

// AuditSubscriberExport audits that the actor downloads the subscribers of a page.
func (s *Store) AuditSubscriberExport(ctx context.Context, actor kernel.Actor, slug string) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		p, err := t.pageBySlug(actor, slug)
		if err != nil {
			return err
		}
		return t.audit(actor, kernel.AuditExport, resource.Page.Audited(p), resource.Page.Audited(p))
	})
}

// Subscriber returns a subscriber of a workspace's page.
func (s *Store) Subscriber(ctx context.Context, actor kernel.Actor, slug, id string) (audience.Subscriber, error) {
	return read(ctx, s, func(c *session) (audience.Subscriber, error) {
		r := accessOf(actor)
		return c.subscriber(r.subscriberOfPage(), id, slug, r.arg)
	})
}

// CreateSubscriber adds a subscriber on behalf of an operator. found has the problems that the caller found,
// or is nil. If there are any problems, the error is a *kernel.ValidationError with all of them. Problems are also that
// the target is subscribed already, that SMS cannot be sent, and that a component does not belong to the page. An
// unconfirmed email address is sent a confirmation mail first.
func (s *Store) CreateSubscriber(
	ctx context.Context, actor kernel.Actor, slug string, n audience.NewSubscriber, found error,
	save ...SaveResponse[audience.Subscriber],
) (audience.Subscriber, error) {
	n, invalid := n.Check()
	invalid = kernel.JoinUnread(found, invalid)
	sub, err := writeAs(ctx, s, actor, func(t *tx) (audience.Subscriber, error) {
		p, err := t.pageBySlug(actor, slug)
		if err != nil {
			return audience.Subscriber{}, err
		}
		var sms, components error
		if n.Channel == audience.ChannelSMS {
			sms = t.checkSMS(p.WorkspaceID)
		}
		n := n
		if n.Components, components = t.resolveComponents(p.ID, n.Components); components == nil {
			n.Components = distinct(n.Components)
			components = t.checkChosen(p.ID, "", n.Components)
		}
		if err := kernel.JoinUnread(invalid, kernel.JoinInvalid(sms, components)); err != nil {
			return audience.Subscriber{}, err
		}
		sub, err := t.subscribe(p.ID, n, byOperator)
		if err == nil {
			err = t.audit(actor, kernel.AuditCreate, nil, sub)
		}
		return sub, err
	}, save...)
	if err != nil && s.db.IsDuplicate(err) {
		var bad kernel.ValidationError
		bad.Add("target", "is already subscribed to this page")
		return sub, bad.Err()
	}
	return sub, err
}

// addedBy says who adds a subscriber.
type addedBy bool

const (
	byVisitor  addedBy = false
	byOperator addedBy = true
)

// subscribe saves a new subscriber, whose components are checked, and queues the request for confirmation if it needs
// one.
func (t *tx) subscribe(pageID string, n audience.NewSubscriber, by addedBy) (audience.Subscriber, error) {
	sub := t.newSubscriber(pageID, n, by)
	if err := t.saveNewSubscribers([]audience.Subscriber{sub}); err != nil {
		return sub, err
	}
	sub.Address = ""
	if sub.ConfirmedAt.IsZero() {
		return sub, nil
	}
	return sub, t.forgetUnsubscription(sub)
}

// newSubscriber returns a new subscriber, which is not saved yet.
func (t *tx) newSubscriber(pageID string, n audience.NewSubscriber, by addedBy) audience.Subscriber {
	sub := audience.Subscriber{
		ID: kernel.NewID(kernel.PrefixSubscriber, t.Now), PageID: pageID, Channel: n.Channel,
		Target: n.Channel.Shown(n.Target), Address: n.Target, Key: audience.NewSubscriberKey(),
		WholePage: len(n.Components) == 0, Components: n.Components, CreatedAt: t.Now,
		UpdatedAt:       t.Now,
		AddedByOperator: by == byOperator, Warnings: by == byOperator && n.Warnings,
	}
	if n.Channel.Secret() {
		sub.TargetKey = targetHash(pageID, n.Channel, n.Target)
	}
	if n.IncidentID != "" {
		sub.TargetKey, sub.IncidentID = targetHash(pageID, n.Channel, n.Target+"\n"+n.IncidentID), n.IncidentID
	}
	if n.Channel.Signed() {
		sub.Secret = audience.NewWebhookSecret()
	}
	if n.Confirmed || by == byOperator && !n.Channel.Confirmed() {
		sub.ConfirmedAt = t.Now
	} else {
		sub.MailedAt = t.Now
		if n.Channel.Coded() {
			sub.RequestCode(t.Now)
		}
	}
	return sub
}

// saveNewSubscribers saves new subscribers, whose components are checked, and queues the requests for confirmation that
// they need.
func (t *tx) saveNewSubscribers(subs []audience.Subscriber) error {
	var columns []string
	var rows, chosen, requests [][]any
	workspaces := make(map[string]string) // by page
	for _, sub := range subs {
		target, err := t.storeTarget(sub.ID, sub.TargetKey, sub.Channel, sub.Address)
		if err != nil {
			return err
		}
		stored := sub
		stored.Target, stored.TargetKey = target.shown, target.key
		var row []any
		columns, row = subscriberTable.row(&stored)
		rows = append(rows, append(row, sub.Destination(), target.sealed))
		for _, component := range sub.Components {
			chosen = append(chosen, []any{sub.ID, component})
		}
		if sub.ConfirmedAt.IsZero() {
			if workspaces[sub.PageID] == "" {
				if workspaces[sub.PageID], err = t.workspaceOfPage(sub.PageID); err != nil {
					return err
				}
			}
			_, row := t.newDelivery(workspaces[sub.PageID], sub, audience.PurposeConfirmation)
			requests = append(requests, row)
		}
	}
	err := t.insertRows(`INSERT INTO subscribers (`+strings.Join(append(columns, "host", "sealed_target"), ", ")+`)`,
		rows)
	if err == nil {
		err = t.insertRows(`INSERT INTO subscriber_components (subscriber_id, component_id)`, chosen)
	}
	if err == nil {
		err = t.insertRows(insertDelivery, requests)
	}
	return err
}

// choosable selects which of the components $2 the subscriber $3 of the page $1 can choose. Nobody is notified of
// hidden components, but one that was chosen before it was hidden can stay.
const choosable = `FROM components WHERE page_id = $1 AND id IN EACH($2)
	AND (NOT hidden OR id IN (SELECT component_id FROM subscriber_components WHERE subscriber_id = $3))`

// checkChosen returns a *kernel.ValidationError unless a subscriber of a page can choose all the components. The id
// of a new subscriber is "".
func (t *tx) checkChosen(pageID, subscriberID string, components []string) error {
	n, err := database.One(t.Session, database.ScanInt, `SELECT count(*) `+choosable, pageID, list(components),
		subscriberID)
	if err == nil && int(n) != len(components) {
		var bad kernel.ValidationError
		bad.Add("components", "must be of this page, and not hidden")
		err = bad.Err()
	}
	return err
}

// saveChosen checks the components of a subscriber, and saves them in place of the saved ones.
func (t *tx) saveChosen(sub audience.Subscriber) error {
	if err := t.checkChosen(sub.PageID, sub.ID, sub.Components); err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM subscriber_components WHERE subscriber_id = $1`, sub.ID); err != nil {
		return err
	}
	_, err := t.Exec(`INSERT INTO subscriber_components (subscriber_id, component_id) SELECT $3, id FROM components
		WHERE page_id = $1 AND id IN EACH($2)`, sub.PageID, list(sub.Components), sub.ID)
	return err
}

// queueMessage queues a message that no event causes.
func (t *tx) queueMessage(sub audience.Subscriber, purpose audience.DeliveryPurpose) error {
	_, err := t.queueDelivery(sub, purpose)
	return err
}

// queueDelivery is queueMessage, and returns the id of the delivery.
func (t *tx) queueDelivery(sub audience.Subscriber, purpose audience.DeliveryPurpose) (string, error) {
	workspace, err := t.workspaceOfPage(sub.PageID)
	if err != nil {
		return "", err
	}
	id, row := t.newDelivery(workspace, sub, purpose)
	return id, t.insertRows(insertDelivery, [][]any{row})
}

const insertDelivery = `INSERT INTO deliveries (id, page_id, workspace_id, subscriber_id, purpose, channel, host,
	ordering_key, position, collapse_key, state,
	happened_at, next_attempt_at, attempts, fencing_token, created_at, updated_at)`

// newDelivery returns a row for insertDelivery, with its id.
func (t *tx) newDelivery(
	workspaceID string, sub audience.Subscriber, purpose audience.DeliveryPurpose,
) (id string, row []any) {
	id, now := kernel.NewID(kernel.PrefixDelivery, t.Now), millis(t.Now)
	t.signal(effectDeliveriesPending)
	return id,
		[]any{
			id, sub.PageID, workspaceID, sub.ID, string(purpose), string(sub.Channel), sub.Destination(), sub.ID, 0,
			id, string(audience.DeliveryPending), now, now, 0, 0, now, now,
		}
}

// DeleteSubscriber ends a subscription: open deliveries are cancelled and the subscriber's address is deleted.
func (s *Store) DeleteSubscriber(
	ctx context.Context, actor kernel.Actor, slug, id string, p kernel.Precondition,
) error {
	r := accessOf(actor)
	return s.unsubscribe(ctx, actor, func(t *tx, sub audience.Subscriber) error {
		if err := p.Check(sub); err != nil {
			return err
		}
		return t.audit(actor, kernel.AuditDelete, sub, nil)
	}, r.subscriberOfPage(), id, slug, r.arg)
}

// Unsubscribe is DeleteSubscriber for the holder of key.
func (s *Store) Unsubscribe(ctx context.Context, slug, key string) error {
	return s.unsubscribe(ctx, kernel.Actor{Kind: kernel.ActorSubscriber}, func(t *tx, sub audience.Subscriber) error {
		if err := t.rememberUnsubscription(sub); err != nil {
			return err
		}
		return t.auditSubscriber(kernel.AuditDelete, sub, nil, sub)
	}, subscriberOfKey, key, slug)
}

func (s *Store) unsubscribe(
	ctx context.Context, actor kernel.Actor, audit func(*tx, audience.Subscriber) error, where string, args ...any,
) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		sub, err := t.subscriber(where+` FOR UPDATE`, args...)
		if err == nil {
			err = audit(t, sub)
		}
		if err != nil {
			return err
		}
		return t.endSubscription(sub.ID, "The subscription has ended.")
	})
}

// endSubscription deletes a subscriber and cancels its open deliveries.
func (t *tx) endSubscription(id, reason string) error {
	if err := t.cancel(id, reason); err != nil {
		return err
	}
	_, err := t.Exec(`DELETE FROM subscribers WHERE id = $1`, id)
	return err
}

// endByReceiver ends the subscription of somebody who has opted out at the gateway, and remembers that as an
// unsubscription. It does nothing if the subscription has ended already.
func (t *tx) endByReceiver(id, reason string) error {
	sub, err := t.subscriber(`WHERE id = $1 FOR UPDATE`, id)
	if errors.Is(err, kernel.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = t.rememberUnsubscription(sub)
	}
	if err == nil {
		err = t.auditSubscriber(kernel.AuditDelete, sub, nil, sub)
	}
	if err != nil {
		return err
	}
	return t.endSubscription(id, reason)
}

// cancel ends all open deliveries of a subscriber.
func (t *tx) cancel(subscriberID, reason string) error {
	_, err := t.Exec(`UPDATE deliveries SET state = 'cancelled', reason = $2, lease_until_at = NULL, updated_at = $3
		WHERE subscriber_id = $1 AND state IN ('pending', 'sending')`, subscriberID, reason, millis(t.Now))
	return err
}

// cancelForSignedUp ends the deliveries to subscribers who signed up while the page was visible, because they get
// nothing of a private page; see createDeliveries.
func (t *tx) cancelForSignedUp(pageID string) error {
	_, err := t.Exec(`UPDATE deliveries SET state = 'cancelled', reason = $2, lease_until_at = NULL, updated_at = $3
		WHERE page_id = $1 AND purpose = 'event' AND state IN ('pending', 'sending')
			AND subscriber_id IN (SELECT id FROM subscribers WHERE page_id = $1 AND NOT added_by_operator
			AND NOT admitted)`, pageID, "The page is private.", millis(t.Now))
	return err
}

// SendTestMessage queues a test message to a subscriber, which is delivered like any other, and returns its entry in
// the delivery log. The error is a *kernel.ValidationError if the subscriber is not notified, or was sent a test
// message within audience.TestMessageInterval.
func (s *Store) SendTestMessage(
	ctx context.Context, actor kernel.Actor, slug, id string, save ...SaveResponse[audience.DeliveryLogEntry],
) (audience.DeliveryLogEntry, error) {
	return writeAs(ctx, s, actor, func(t *tx) (entry audience.DeliveryLogEntry, err error) {
		r := accessOf(actor)
		sub, err := t.subscriber(r.subscriberOfPage()+` FOR UPDATE`, id, slug, r.arg)
		if err != nil {
			return entry, err
		}
		bad := new(kernel.ValidationError)
		if state := sub.State(); state != audience.SubscriberActive {
			bad.Add("state", "A subscriber that is %s gets no messages.", state)
		}
		recent, err := database.One(t.Session, database.ScanInt,
			`SELECT count(*) FROM deliveries WHERE subscriber_id = $1 AND purpose = $2 AND created_at > $3`,
			sub.ID, string(audience.PurposeTest), millis(t.Now.Add(-audience.TestMessageInterval)))
		if err != nil {
			return entry, err
		}
		if recent > 0 {
			bad.Add("state", "A test message was sent less than a minute ago.")
		}
		if err := bad.Err(); err != nil {
			return entry, err
		}
		delivery, err := t.queueDelivery(sub, audience.PurposeTest)
		if err == nil {
			err = t.audit(actor, kernel.AuditTest, sub, sub)
		}
		if err != nil {
			return entry, err
		}
		return database.One(t.Session, scanDeliveryLogEntry,
			`SELECT `+deliveryLogColumns+` `+deliveryLogFrom+` AND d.id = $2`, sub.PageID, delivery)
	}, save...)
}
