package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// Limits of mails with links for new passwords.
const (
	resetsPerAccount = 3 // in an hour, for all accounts with the same mailbox together
	resetQueue       = 100
	mailAttempts     = 3
	mailPause        = 20 * time.Second // between attempts
)

// Limits of mails with invitations, in a day. The invitations themselves have account.MaxInvitations.
const (
	invitesPerAddress   = 3 // from all workspaces, by kernel.MailboxKey
	invitesPerWorkspace = 100
	maxMailedName       = 60 // characters
)

// invited limits the mails with invitations.
type invited struct{ addresses, workspaces *limit.Limiter }

func newInvited() invited {
	return invited{limit.New(invitesPerAddress, 24*time.Hour), limit.New(invitesPerWorkspace, 24*time.Hour)}
}

// take reports whether an invitation may be mailed, and counts it. The address is checked first, so that an address
// above its limit uses up nothing of the workspace's limit.
func (i invited) take(workspaceID, email string, now time.Time) bool {
	mailbox := kernel.MailboxKey(email)
	return !i.addresses.Full(mailbox, now) &&
		i.workspaces.Take(workspaceID, now).Allowed && i.addresses.Take(mailbox, now).Allowed
}

// inviteTimeout is how long the screen of members waits for the mail server.
const inviteTimeout = 10 * time.Second

// forgot has the requests for a new password. They are processed in the background, so that neither the text nor the
// timing of the response shows whether there is an account.
type forgot struct {
	accounts *limit.Limiter
	queue    chan string // email addresses
}

func newForgot() *forgot {
	return &forgot{limit.New(resetsPerAccount, time.Hour), make(chan string, resetQueue)}
}

// forgotScreen is the data of the template forgot.
type forgotScreen struct {
	*frame.Form
	Email frame.Field
	Sent  bool
}

// showForgot shows the form that asks for a link by mail.
func (r *request) showForgot() error {
	if r.SendMail == nil || r.SingleSignOn.NoPasswords {
		return kernel.ErrNotFound
	}
	return r.showForgotForm(http.StatusOK, &forgotScreen{Form: frame.NewForm(url.Values{})})
}

func (r *request) showForgotForm(status int, s *forgotScreen) error {
	s.Email = s.Draw(frame.Field{Name: "email", Label: "Email", Type: "email", Autocomplete: "username", Focus: true})
	return r.Show(status, "forgot", "Forgot your password?", s)
}

// requestReset queues a mail with a link for a new password. Above the limit of an account it mails nothing, and gives
// the same response.
func (r *request) requestReset() error {
	if r.SendMail == nil || r.SingleSignOn.NoPasswords {
		return kernel.ErrNotFound
	}
	s := &forgotScreen{Form: frame.NewForm(r.PostForm)}
	n := account.NewInvitation{Email: r.PostForm.Get("email"), Role: kernel.RoleViewer}
	if s.Refused(n.Validate()) {
		return r.showForgotForm(http.StatusUnprocessableEntity, s)
	}
	if err := r.Attempt(frame.Attempter{}); err != nil {
		return err
	}
	if r.forgot.accounts.Take(kernel.MailboxKey(n.Email), r.Now()).Allowed {
		select {
		case r.forgot.queue <- n.Email:
		default:
			r.Log.WarnContext(r.Context(), "too many requests for new passwords: one was dropped")
		}
	}
	s.Sent = true
	return r.showForgotForm(http.StatusOK, s)
}

// SendResetMails processes requests for new passwords until ctx ends.
func (s *Screens) SendResetMails(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case email := <-s.forgot.queue:
			if err := s.sendResetMail(ctx, email); err != nil && ctx.Err() == nil {
				s.frame.Log.WarnContext(ctx, "a link for a new password could not be mailed", "error", err)
			}
		}
	}
}

// sendResetMail mails a link if there is an account. It makes up to mailAttempts attempts.
func (s *Screens) sendResetMail(ctx context.Context, email string) error {
	code, err := s.frame.Store.IssueResetCode(ctx, email)
	if errors.Is(err, kernel.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf(resetMail, s.frame.Base, account.CodeReset.URL(s.frame.Base, code))
	return tryMail(ctx, func() error { return s.SendMail(ctx, email, "Set a new password for Allswell", text) })
}

// tryMail calls send until it succeeds, at most mailAttempts times. It returns the last error, or the error of ctx if
// ctx ends first.
func tryMail(ctx context.Context, send func() error) error {
	for attempt := 1; ; attempt++ {
		err := send()
		if err == nil || attempt == mailAttempts {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(mailPause):
		}
	}
}

const resetMail = `Someone, hopefully you, asked for a new password for your account at %s.

To set it, open this link within an hour. It works once, and ends all sessions of the account:

%s

If it was not you, ignore this email. Nothing has changed.
`

// invitationMail is the text of the mail with an invitation. Its verbs are the URL of this service, the name of the
// inviting person, the name of the workspace, the role, the number of days, and the link. Both names have passed
// plainName.
const invitationMail = `You are invited to use the monitoring service at %s.

%s invites you to the workspace "%s" as %s.

To accept, open this link within %d days. It works once:

%s

If you were not expecting this, ignore this email.
`

// plainName returns a name that may be mailed to strangers: shortened to maxMailedName characters, on one line, and
// without punctuation except - and '. So nobody can use this service to mail a text or a link of their choice.
func plainName(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit) && r != '-' && r != '\''
	})
	return cmp.Or(alert.Shorten(strings.Join(words, " "), maxMailedName), "Someone")
}

// mailInvitation mails the link of a new invitation, and returns the outcome for people; "": mail is off.
func (r *request) mailInvitation(i account.Invitation, link string) string {
	if r.SendMail == nil {
		return ""
	}
	workspace := ""
	for _, w := range r.SignedIn.Workspaces {
		if w.ID == i.WorkspaceID {
			workspace = w.Name
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), inviteTimeout)
	defer cancel()
	if !r.invited.take(i.WorkspaceID, i.Email, r.Now()) {
		return fmt.Sprintf("No mail was sent, so send this link yourself: in a day, %d invitations are mailed to an "+
			"address, and %d for a workspace.", invitesPerAddress, invitesPerWorkspace)
	}
	text := fmt.Sprintf(invitationMail, r.Base, plainName(i.InviterName), plainName(workspace), i.Role,
		int(account.InvitationAge/(24*time.Hour)), link)
	if err := r.SendMail(ctx, i.Email, "Invitation to a workspace of Allswell", text); err != nil {
		r.Log.WarnContext(r.Context(), "an invitation could not be mailed", "invitation", i.ID, "error", err)
		return "The mail could not be sent, so send this link yourself. The reason is in the log of the service."
	}
	return "The link was mailed. You can also send it yourself."
}
