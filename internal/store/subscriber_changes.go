package store

import (
	"context"
	"slices"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// RotateSubscriber gives a webhook a new secret. The old one also signs for audience.SecretOverlap. The error is a
// *kernel.ValidationError unless the subscriber is a webhook.
func (s *Store) RotateSubscriber(
	ctx context.Context, actor kernel.Actor, slug, id string, save ...SaveResponse[audience.Subscriber],
) (audience.Subscriber, error) {
	return writeAs(ctx, s, actor, func(t *tx) (audience.Subscriber, error) {
		r := accessOf(actor)
		sub, err := t.subscriber(r.subscriberOfPage()+` FOR UPDATE`, id, slug, r.arg)
		if err != nil {
			return sub, err
		}
		if !sub.Channel.Signed() {
			var bad kernel.ValidationError
			bad.Add("channel", "Only webhooks have a secret.")
			return sub, bad.Err()
		}
		before := sub
		sub.OldSecret, sub.OldSecretUntil = sub.Secret, t.Now.Add(audience.SecretOverlap)
		sub.Secret, sub.SecretVersions = audience.NewWebhookSecret(), sub.SecretVersions.Changed("secret")
		sub.UpdatedAt = kernel.Later(t.Now, sub.UpdatedAt)
		if err = t.saveSubscriber(sub); err == nil {
			err = t.audit(actor, kernel.AuditRotate, before, sub)
		}
		return sub, err
	}, save...)
}

// ChangeSubscriber changes a subscriber on behalf of an operator: the components, by ids or slugs, and whether it asks
// for warnings. The error is kernel.ErrPreconditionFailed if the subscriber does not meet p, and a
// *kernel.ValidationError if it is not allowed to ask for warnings: see audience.Subscriber.CanAskForWarnings. Open
// deliveries to the subscriber are not cancelled.
func (s *Store) ChangeSubscriber(
	ctx context.Context, actor kernel.Actor, slug, id string, p kernel.Precondition, change func(
		*audience.Subscriber,
	) error,
) (audience.Subscriber, error) {
	return s.changeAsOperator(ctx, actor, subscriberChange{
		slug, id, kernel.AuditUpdate, func(t *tx, sub *audience.Subscriber) (bool, error) {
			if err := p.Check(*sub); err != nil {
				return false, err
			}
			before := *sub
			if err := sub.Change(change); err != nil {
				return false, err
			}
			ids, err := t.resolveComponents(sub.PageID, sub.Components)
			if err != nil {
				return false, err
			}
			sub.Components = slices.Compact(slices.Sorted(slices.Values(ids)))
			chosen := sub.WholePage != before.WholePage || !slices.Equal(sub.Components, before.Components)
			if chosen {
				if err := t.saveChosen(*sub); err != nil {
					return false, err
				}
			}
			return chosen || sub.Warnings != before.Warnings, nil
		},
	})
}

// ResumeSubscriber ends the suspension of a subscriber, if there is one, on behalf of an operator.
func (s *Store) ResumeSubscriber(
	ctx context.Context, actor kernel.Actor, slug, id string, save ...SaveResponse[audience.Subscriber],
) (audience.Subscriber, error) {
	return s.changeAsOperator(ctx, actor,
		subscriberChange{slug, id, kernel.AuditResume, func(_ *tx, sub *audience.Subscriber) (bool, error) {
			suspended := !sub.SuspendedAt.IsZero()
			if suspended {
				sub.Resume()
			}
			return suspended, nil
		}}, save...)
}

// subscriberChange is a change of a subscriber of a page.
type subscriberChange struct {
	slug, id string
	action   kernel.AuditAction
	apply    func(*tx, *audience.Subscriber) (changed bool, err error)
}

// changeAsOperator applies a change to a locked subscriber, and saves and audits it.
func (s *Store) changeAsOperator(
	ctx context.Context, actor kernel.Actor, ch subscriberChange, save ...SaveResponse[audience.Subscriber],
) (audience.Subscriber, error) {
	return writeAs(ctx, s, actor, func(t *tx) (audience.Subscriber, error) {
		r := accessOf(actor)
		sub, err := t.subscriber(r.subscriberOfPage()+` FOR UPDATE`, ch.id, ch.slug, r.arg)
		if err != nil {
			return sub, err
		}
		before := sub
		if changed, err := ch.apply(t, &sub); err != nil || !changed {
			return before, err
		}
		sub.UpdatedAt = kernel.Later(t.Now, sub.UpdatedAt)
		if err := t.saveSubscriber(sub); err != nil {
			return sub, err
		}
		return sub, t.audit(actor, ch.action, before, sub)
	}, save...)
}

// saveSubscriber saves the fields of a locked subscriber that confirmations, choices, operators, rotations and
// rejections change.
func (t *tx) saveSubscriber(sub audience.Subscriber) error {
	return subscriberTable.update(t, &sub)
}
