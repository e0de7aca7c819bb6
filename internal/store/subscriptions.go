package store

import (
	"context"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

// SubscriptionPageSlug returns the current slug of the page of a subscription. The links in
// mails have the slug from when they were sent.
func (s *Store) SubscriptionPageSlug(ctx context.Context, key string) (string, error) {
	slug, err := database.Lookup(ctx, s.db, func(c *database.Session) (string, error) {
		return database.One(c, database.ScanString, `SELECT slug FROM pages WHERE id IN (SELECT page_id FROM subscribers WHERE key = $1)`, key)
	})
	return slug, s.db.Replicated(ctx, err) // ErrNotFound confirms that the subscription has ended
}

// Subscription returns the subscription that the holder of key may see and
// change.
func (s *Store) Subscription(ctx context.Context, slug, key string) (allswell.Subscriber, error) {
	return read(ctx, s, func(c *session) (allswell.Subscriber, error) {
		return c.subscriber(subscriberOfKey, key, slug)
	})
}

// ConfirmSubscription records the holder's consent. Repeating it changes nothing. A channel whose subscriptions are
// confirmed by a code is an *allswell.ValidationError: see ConfirmWithCode.
func (s *Store) ConfirmSubscription(ctx context.Context, slug, key string) (allswell.Subscriber, error) {
	sub, err := s.Subscription(ctx, slug, key)
	if err == nil && sub.Channel.Coded() && sub.ConfirmedAt.IsZero() {
		err = wrongCode()
	}
	if err != nil {
		return sub, err
	}
	return s.confirm(ctx, slug, key)
}

func (s *Store) confirm(ctx context.Context, slug, key string) (allswell.Subscriber, error) {
	return s.changeSubscription(ctx, slug, key, allswell.AuditConfirm, func(t *tx, sub *allswell.Subscriber) error {
		if sub.ConfirmedAt.IsZero() {
			sub.ConfirmedAt = t.Now
			sub.Resume() // the confirmation mail has arrived, so mail can be sent
			return t.forgetUnsubscription(*sub)
		}
		return nil
	})
}

// ResumeSubscription ends a suspension.
func (s *Store) ResumeSubscription(ctx context.Context, slug, key string) (allswell.Subscriber, error) {
	return s.changeSubscription(ctx, slug, key, allswell.AuditResume, func(_ *tx, sub *allswell.Subscriber) error {
		sub.Resume()
		return nil
	})
}

// ChangeSubscription sets the chosen components, or chooses the whole page if there are
// none, and ends a suspension.
func (s *Store) ChangeSubscription(ctx context.Context, slug, key string, components []string) (allswell.Subscriber, error) {
	components, err := allswell.CheckChosenComponents(components)
	if err != nil {
		return allswell.Subscriber{}, err
	}
	return s.changeSubscription(ctx, slug, key, allswell.AuditUpdate, func(t *tx, sub *allswell.Subscriber) error {
		sub.WholePage, sub.Components = len(components) == 0, components
		sub.Resume()
		return t.saveChosen(*sub)
	})
}

func (s *Store) changeSubscription(
	ctx context.Context, slug, key string, action allswell.AuditAction, change func(*tx, *allswell.Subscriber) error,
) (allswell.Subscriber, error) {
	return write(ctx, s, func(t *tx) (allswell.Subscriber, error) {
		sub, err := t.subscriber(subscriberOfKey+` FOR UPDATE`, key, slug)
		if err != nil {
			return sub, err
		}
		before := sub
		if err := change(t, &sub); err != nil {
			return sub, err
		}
		sub.UpdatedAt = allswell.Later(t.Now, sub.UpdatedAt)
		if err := t.saveSubscriber(sub); err != nil {
			return sub, err
		}
		return sub, t.auditSubscriber(action, before, sub, sub)
	})
}
