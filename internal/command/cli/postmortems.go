package cli

import (
	"errors"
	"fmt"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
)

type incidentPostmortem struct {
	incidentArgument
	Text    *string `arg:"" optional:"" name:"text" help:"Text in Markdown; - reads it from standard input. Without it, the post-mortem is shown, or only --publish or --unpublish changed."`
	Publish bool    `xor:"publish" help:"Publish it. The incident must be resolved. Subscribers are notified of the first publication."`
	Draft   bool    `name:"unpublish" xor:"publish" help:"Make it a draft again, which visitors do not see."`
	silence
}

func (cmd *incidentPostmortem) Run(c *commandContext) error {
	text, err := c.message(cmd.Text)
	if err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	old, err := c.api.GetPostmortem(c.Ctx, id)
	option := client.IfNoneMatch()
	switch {
	case err == nil:
		option = client.IfMatch(old.ETag())
	case !errors.Is(err, client.ErrNotFound) || text == nil:
		return err
	}
	if text == nil && !cmd.Publish && !cmd.Draft {
		return object(c, old, nil, c.printPostmortem)
	}
	input := client.PostmortemInput{Notify: cmd.notify()}
	if text != nil {
		input.Body = *text
	} else {
		input.Body = old.Body
	}
	if cmd.Publish || cmd.Draft {
		input.Published = &cmd.Publish
	}
	saved, err := c.api.PutPostmortem(c.Ctx, id, input, option)
	return object(c, saved, err, func(p *client.Postmortem) {
		switch {
		case old != nil && p.UpdatedAt.Equal(old.UpdatedAt):
			c.Printf("The post-mortem is as it was: nothing has changed.\n")
		case !p.Published:
			c.Printf("Saved the post-mortem as a draft. To publish it:\n  allswell incident postmortem %s --publish\n",
				console.Visible(id))
		case old != nil && old.Published:
			c.Printf("Saved the post-mortem. The page says that it was edited; no one is notified.\n")
		case p.Notified && (old == nil || !old.Notified):
			c.Printf("Published the post-mortem. Subscribers are notified.\n")
		default:
			c.Printf("Published the post-mortem. No one is notified.\n")
		}
	})
}

// printPostmortem prints a post-mortem.
func (c *commandContext) printPostmortem(p *client.Postmortem) {
	c.Properties([2]string{
		"Published", timeOr(p.PublishedAt, "no, it is a draft"),
	}, [2]string{"Last change", console.Time(p.UpdatedAt)})
	c.Printf("\n%s\n", console.Paragraph(p.Body, "  "))
}

type incidentDeletePostmortem struct {
	incidentArgument
	confirmation
}

func (cmd *incidentDeletePostmortem) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	old, err := c.api.GetPostmortem(c.Ctx, id)
	if err != nil {
		return err
	}
	if err := cmd.confirm(c, func() (string, error) {
		return fmt.Sprintf("the post-mortem, last changed %s", console.Time(old.UpdatedAt)), nil
	}); err != nil {
		return err
	}
	return c.deleted(c.api.DeletePostmortem(c.Ctx, id, client.IfMatch(old.ETag())), "post-mortem of", cmd.Incident)
}
