package cli

import (
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/console"
	"github.com/allswell/allswell/internal/timeinput"
)

// AnnouncementCommands are the commands of announcements.
type AnnouncementCommands struct {
	ClientSettings `embed:""`

	List   announcementList   `cmd:"" help:"List a page's announcements, latest first."`
	Show   announcementShow   `cmd:"" help:"Show an announcement."`
	Create announcementCreate `cmd:"" help:"Show an announcement at the top of a page. Nobody is notified."`
	Edit   announcementEdit   `cmd:"" aliases:"set" help:"Change an announcement."`
	Delete announcementDelete `cmd:"" help:"Delete an announcement."`
}

// shownSpan is embedded by the commands that set when an announcement is shown.
type shownSpan struct {
	From  *timeinput.Moment   `placeholder:"TIME" help:"Time from which it is shown, such as 2026-11-24 22:00 or tomorrow 22:00 in the page's time zone. New announcements: now by default."`
	Until *timeinput.Moment   `xor:"end" placeholder:"TIME" help:"Time from which it is no longer shown, in the form of --from."`
	For   *timeinput.Duration `xor:"end" placeholder:"DURATION" help:"How long it is shown, from --from or from now, such as 2d."`
}

// times returns when the announcement is shown; nil for what is not given.
func (s shownSpan) times(c *commandContext, page *pageFlag) (from, until *time.Time, err error) {
	beginning := time.Now().Truncate(time.Second)
	if s.From != nil {
		if beginning, err = c.moment(*s.From, page); err != nil {
			return nil, nil, err
		}
		from = &beginning
	}
	switch {
	case s.Until != nil:
		end, err := c.moment(*s.Until, page)
		return from, &end, err
	case s.For != nil:
		return from, new(beginning.Add(time.Duration(*s.For))), nil
	}
	return from, nil, nil
}

type announcementCreate struct {
	pageFlag
	Title   string                     `required:"" placeholder:"TEXT" help:"Title of the announcement, at most 255 characters."`
	Message *string                    `placeholder:"TEXT" help:"Text in Markdown, at most 2,000 characters; - reads it from standard input."`
	Level   allswell.AnnouncementLevel `placeholder:"LEVEL" help:"info (the default) or warning."`
	shownSpan
}

func (cmd *announcementCreate) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	from, until, err := cmd.times(c, &cmd.pageFlag)
	if err != nil {
		return err
	}
	message, err := c.message(cmd.Message)
	if err != nil {
		return err
	}
	announcement, err := c.api.CreateAnnouncement(c.Ctx, cmd.Page, client.NewAnnouncement{
		Title: cmd.Title, Message: valueOf(message), Level: cmd.Level, ShownFrom: from, ShownUntil: until,
	})
	return object(c, announcement, err, func(a *client.Announcement) {
		c.Printf("The announcement is %s, shown %s\n", console.Visible(a.ID), c.shown(a))
		c.printAddress(cmd.Page, "")
	})
}

// shown returns when an announcement is shown.
func (c *commandContext) shown(a *client.Announcement) string {
	if a.ShownUntil == nil {
		return "from " + c.time(a.ShownFrom) + " until it is deleted"
	}
	return "from " + c.time(a.ShownFrom) + " until " + c.time(*a.ShownUntil)
}

type announcementList struct {
	pageFlag
	listing
}

func (cmd *announcementList) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	list, total, err := c.api.ListAnnouncements(cmd.Page).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, list, total, "No announcements.", []string{"ANNOUNCEMENT", "LEVEL", "FROM", "UNTIL", "TITLE"}, func(a *client.Announcement) []string {
		return []string{a.ID, string(a.Level), console.Time(a.ShownFrom), timeOr(a.ShownUntil, "deleted"), a.Title}
	})
}

// announcementArgument is embedded by the commands of one announcement.
type announcementArgument struct {
	Announcement string `arg:"" help:"Id of the announcement or the beginning of it, or its title."`
	pageFlag
}

// id returns the id of the announcement.
func (a *announcementArgument) id(c *commandContext) (string, error) {
	if isWholeID(allswell.PrefixAnnouncement, a.Announcement) {
		return a.Announcement, nil
	}
	if err := a.choose(c); err != nil {
		return "", err
	}
	all := []*client.List[client.Announcement]{c.api.ListAnnouncements(a.Page)}
	return findTitled(c, all, "announcement", a.Announcement, func(v *client.Announcement) titled {
		return titled{v.ID, v.Title, v.ShownUntil == nil || v.ShownUntil.After(time.Now())}
	})
}

type announcementShow struct{ announcementArgument }

func (cmd *announcementShow) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	announcement, err := c.api.GetAnnouncement(c.Ctx, id)
	return object(c, announcement, err, func(a *client.Announcement) {
		c.Facts([2]string{"Announcement", a.Title}, [2]string{"Id", a.ID}, [2]string{"Level", string(a.Level)}, [2]string{"Shown", c.shown(a)})
		if a.Message != "" {
			c.Printf("\n%s\n", console.Paragraph(a.Message, "  "))
		}
	})
}

type announcementEdit struct {
	announcementArgument
	Title   *string                     `placeholder:"TEXT" help:"New title."`
	Message *string                     `placeholder:"TEXT" help:"New text; - reads it from standard input."`
	Level   *allswell.AnnouncementLevel `placeholder:"LEVEL" help:"info or warning."`
	shownSpan
	NoUntil bool `xor:"end" help:"Show it until it is deleted."`
}

func (cmd *announcementEdit) Run(c *commandContext) error {
	message, err := c.message(cmd.Message)
	if err != nil {
		return err
	}
	change := client.AnnouncementChange{Title: cmd.Title, Message: message, Level: cmd.Level}
	from, until, err := cmd.times(c, &cmd.pageFlag)
	if err != nil {
		return err
	}
	change.ShownFrom = from
	if until != nil {
		change.ShownUntil = client.Set(*until)
	} else if cmd.NoUntil {
		change.ShownUntil = client.Null[time.Time]()
	}
	if err := checkNotEmpty(change); err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	announcement, err := c.api.ChangeAnnouncement(c.Ctx, id, change)
	return object(c, announcement, err, func(a *client.Announcement) {
		c.Printf("The announcement %q is shown %s.\n", a.Title, c.shown(a))
	})
}

type announcementDelete struct {
	announcementArgument
	unasked
}

func (cmd *announcementDelete) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	return c.deleted(c.api.DeleteAnnouncement(c.Ctx, id), "announcement", cmd.Announcement)
}
