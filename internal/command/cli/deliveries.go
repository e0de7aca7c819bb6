package cli

import (
	"strconv"
	"strings"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// DeliveryCommands are the commands of messages to subscribers.
type DeliveryCommands struct {
	ClientSettings `embed:""`

	List  deliveryList  `cmd:"" help:"List the messages to a page's subscribers, newest first."`
	Retry deliveryRetry `cmd:"" help:"Resend a dead, expired or pending message at once."`
}

type deliveryList struct {
	pageFlag
	States     []client.DeliveryState `name:"state" placeholder:"STATE" help:"Only messages in one of these states, separated by commas: pending, sending, sent, superseded (merged into a later mail), cancelled (the subscription ended or was suspended), expired (not accepted within 24 hours) or dead (permanently rejected)."`
	Subscriber string                 `placeholder:"ID" help:"Only messages to the subscriber with this id."`
	listing
}

func (cmd *deliveryList) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	deliveries, total, err := c.api.ListDeliveries(cmd.Page, client.DeliveryFilter{
		States: cmd.States, Subscriber: cmd.Subscriber,
	}).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	header := []string{"DELIVERY", "STATE", "TRIED", "CREATED", "ABOUT", "TARGET", "NOTE"}
	return table(c, deliveries, total, "No deliveries.", header, func(d *client.Delivery) []string {
		about, target := string(d.Purpose), "(gone)"
		if d.Event != nil {
			about = string(*d.Event)
		}
		if d.Target != nil {
			target = *d.Target
		}
		return []string{
			d.ID, string(d.State), strconv.Itoa(d.Attempts), console.Time(d.CreatedAt), about, target, deliveryNote(d),
		}
	})
}

// deliveryNote returns the reason of a failure, what the delivery waits for, and the delivery that it was
// merged into, as sentences.
func deliveryNote(d *client.Delivery) string {
	var notes []string
	if d.Reason != nil {
		notes = append(notes, sentence(*d.Reason))
	}
	switch {
	case d.WaitsFor != nil:
		notes = append(notes, "Waits for "+*d.WaitsFor+".")
	case d.NextAttemptAt != nil:
		notes = append(notes, "Next attempt: "+console.Time(*d.NextAttemptAt)+".")
	}
	if d.CarriedBy != nil {
		notes = append(notes, "Merged into "+*d.CarriedBy+".")
	}
	return strings.Join(notes, " ")
}

// sentence returns text with a full stop at its end. Replies of servers may have none.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasSuffix(text, "…") || strings.ContainsRune(".!?", rune(text[len(text)-1])) {
		return text
	}
	return text + "."
}

type deliveryRetry struct {
	Delivery string `arg:"" help:"Id of the delivery, or the beginning of it."`
	pageFlag
}

// id returns the id of the delivery.
func (cmd *deliveryRetry) id(c *commandContext) (string, error) {
	if !strings.HasPrefix(cmd.Delivery, kernel.PrefixDelivery) || isWholeID(kernel.PrefixDelivery, cmd.Delivery) {
		return cmd.Delivery, nil
	}
	if err := cmd.choose(c); err != nil {
		return "", err
	}
	list := c.api.ListDeliveries(cmd.Page, client.DeliveryFilter{})
	return findByPrefix(c, list, "delivery", cmd.Delivery, func(d *client.Delivery) string { return d.ID })
}

func (cmd *deliveryRetry) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	delivery, err := c.api.RetryDelivery(c.Ctx, id)
	return object(c, delivery, err, func(d *client.Delivery) {
		if d.WaitsFor != nil {
			c.Printf("Sending %s now, which is for the same receiver and comes first. Then the delivery %s is sent.\n",
				console.Visible(*d.WaitsFor), console.Visible(d.ID))
			return
		}
		c.Printf("Sending the delivery %s again now.\n", console.Visible(d.ID))
	})
}
