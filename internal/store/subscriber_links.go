package store

import (
	"context"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// SubscriptionPageSlug returns the current slug of the page of a subscription. The links in
// mails have the slug from when they were sent.
func (s *Store) SubscriptionPageSlug(ctx context.Context, key string) (string, error) {
	slug, err := database.Lookup(ctx, s.db, func(c *database.Session) (string, error) {
		return database.One(c, database.ScanString,
			`SELECT slug FROM pages WHERE id IN (SELECT page_id FROM subscribers WHERE key = $1)`, key)
	})
	return slug, s.db.Replicated(ctx, err) // ErrNotFound confirms that the subscription has ended
}

// Subscription returns the subscription that the holder of key may see and change.
func (s *Store) Subscription(ctx context.Context, slug, key string) (audience.Subscriber, error) {
	return read(ctx, s, func(c *session) (audience.Subscriber, error) {
		return c.subscriber(subscriberOfKey, key, slug)
	})
}

// ConfirmSubscription records the holder's consent. Repeating it changes nothing. The error is a
// *kernel.ValidationError if the subscription has to be confirmed by a code: see ConfirmWithCode.
func (s *Store) ConfirmSubscription(ctx context.Context, slug, key string) (audience.Subscriber, error) {
	sub, err := s.Subscription(ctx, slug, key)
	if err == nil && sub.Channel.Coded() && sub.ConfirmedAt.IsZero() {
		err = wrongCode()
	}
	if err != nil {
		return sub, err
	}
	return s.confirm(ctx, slug, key)
}

func (s *Store) confirm(ctx context.Context, slug, key string) (audience.Subscriber, error) {
	return s.changeSubscription(ctx, slug, key, kernel.AuditConfirm, func(t *tx, sub *audience.Subscriber) error {
		if sub.ConfirmedAt.IsZero() {
			sub.ConfirmedAt = t.Now
			sub.Resume() // the confirmation mail has arrived, so mail can be sent
			return t.forgetUnsubscription(*sub)
		}
		return nil
	})
}

// ResumeSubscription ends a suspension.
func (s *Store) ResumeSubscription(ctx context.Context, slug, key string) (audience.Subscriber, error) {
	return s.changeSubscription(ctx, slug, key, kernel.AuditResume, func(_ *tx, sub *audience.Subscriber) error {
		sub.Resume()
		return nil
	})
}

// ChangeSubscription sets the chosen components, or chooses the whole page if there are none, and ends a suspension.
func (s *Store) ChangeSubscription(
	ctx context.Context, slug, key string, components []string,
) (audience.Subscriber, error) {
	components, err := audience.CheckChosenComponents(components)
	if err != nil {
		return audience.Subscriber{}, err
	}
	return s.changeSubscription(ctx, slug, key, kernel.AuditUpdate, func(t *tx, sub *audience.Subscriber) error {
		sub.WholePage, sub.Components = len(components) == 0, components
		sub.Resume()
		return t.saveChosen(*sub)
	})
}

func (s *Store) changeSubscription(
	ctx context.Context, slug, key string, action kernel.AuditAction, change func(*tx, *audience.Subscriber) error,
) (audience.Subscriber, error) {
	return write(ctx, s, func(t *tx) (audience.Subscriber, error) {
		sub, err := t.subscriber(subscriberOfKey+` FOR UPDATE`, key, slug)
		if err != nil {
			return sub, err
		}
		before := sub
		if err := change(t, &sub); err != nil {
			return sub, err
		}
		sub.UpdatedAt = kernel.Later(t.Now, sub.UpdatedAt)
		if err := t.saveSubscriber(sub); err != nil {
			return sub, err
		}
		return sub, t.auditSubscriber(action, before, sub, sub)
	})
}
