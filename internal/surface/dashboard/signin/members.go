package signin

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// membersScreen is the data of the template members.
type membersScreen struct {
	*frame.Form
	Self        string // id of the signed-in user
	Members     []memberRow
	Pager       frame.Pager
	Invitations []account.Invitation
	Fields      []frame.Field // of the form that invites
	LimitTo     frame.LimitForm
	CanMail     bool
	Link        string // of the invitation that has just been created; "": none
	Invited     account.Invitation
	Mailed      string // outcome of the mail with the link, for people; "": mail is off
	Problem     string // why a change of a member was refused; "": none was
}

// memberRow is a member in the list.
type memberRow struct {
	account.Member
	CanChange bool
	Roles     []frame.Option
	LimitTo   frame.LimitForm
}

// roleOptions returns the roles that the visitor can give.
func (r *request) roleOptions(selected kernel.Role) (options []frame.Option) {
	for _, role := range kernel.Roles {
		if r.SignedIn.Role.Includes(role) {
			options = append(options, frame.Option{
				Value: string(role), Label: frame.RoleName(role), Selected: role == selected,
			})
		}
	}
	return options
}

// roleHint describes the rights of each role.
const roleHint = "Viewers see everything. Editors also change components, incidents and monitors. " +
	"Admins also manage pages, members and tokens. Owners also add and remove owners. Viewers and editors can be " +
	"limited to pages."

// showMembers lists the members of the workspace and the pending invitations.
func (r *request) showMembers() error {
	return r.listMembers(http.StatusOK, &membersScreen{Form: newInvitationForm()})
}

func newInvitationForm() *frame.Form {
	return frame.NewForm(url.Values{"role": {string(kernel.RoleEditor)}})
}

func (r *request) listMembers(status int, s *membersScreen) error {
	query := r.URL.Query()
	rows := frame.Pagination(query)
	members, total, err := r.Store.Members(r.Context(), r.Actor(), rows)
	if err != nil {
		return err
	}
	if s.LimitTo, err = r.LimitForm(s.Values); err != nil {
		return err
	}
	s.CanMail = r.SendMail != nil
	s.Self, s.Pager = r.SignedIn.User.ID, frame.NewPager(frame.Path+"/members", url.Values{}, rows, len(members), total)
	for _, m := range members {
		s.Members = append(s.Members, memberRow{
			m, r.SignedIn.Role.Includes(m.Role), r.roleOptions(m.Role), s.LimitTo.WithLimit(m.Limit),
		})
	}
	s.Invitations, _, err = r.Store.Invitations(r.Context(), r.Actor(),
		store.Pagination{Page: 1, PerPage: account.MaxInvitations})
	if err != nil {
		return err
	}
	s.Fields = []frame.Field{
		s.Draw(frame.Field{
			Name: "email", Label: "Email", Type: "email", Autocomplete: "off", Placeholder: "grace@example.com",
		}),
		s.Draw(frame.Field{Name: "role", Label: "Role", Type: "select", Options: r.roleOptions(""), Hint: roleHint}),
	}
	return r.Show(status, "members", "Members", s)
}

// invite creates an invitation. The response itself shows its link, so that no URL ever contains the code.
func (r *request) invite() error {
	f := frame.NewForm(r.PostForm)
	n := account.NewInvitation{Email: f.Value("email"), Role: kernel.Role(f.Value("role"))}
	if limit := frame.ReadLimit(f.Values); limit != nil {
		n.Limit = *limit
	}
	issued, err := r.Store.Invite(r.Context(), r.Actor(), n)
	if f.Refused(err) {
		return r.listMembers(http.StatusUnprocessableEntity, &membersScreen{Form: f})
	}
	if err != nil {
		return err
	}
	link := account.InvitationURL(r.Base, issued.Code)
	return r.listMembers(http.StatusCreated, &membersScreen{Form: newInvitationForm(),
		Link: link, Invited: issued.Invitation, Mailed: r.mailInvitation(issued.Invitation, link)})
}

// withdrawInvitation withdraws an invitation.
func (r *request) withdrawInvitation() error {
	return r.answerMembers(r.Store.WithdrawInvitation(r.Context(), r.Actor(), r.PathValue("invitation")))
}

// changeMember changes the role of a member.
func (r *request) changeMember() error {
	typed := r.PostForm
	_, err := r.Store.ChangeMember(r.Context(), r.Actor(), r.PathValue("member"),
		account.MemberChange{
			Role: kernel.Role(typed.Get("role")), From: kernel.Role(typed.Get("from")), Limit: frame.ReadLimit(typed),
		})
	return r.answerMembers(err)
}

// removeMember removes a member from the workspace.
func (r *request) removeMember() error {
	return r.answerMembers(r.Store.RemoveMember(r.Context(), r.Actor(), r.PathValue("member")))
}

// answerMembers redirects to the list after a change, or shows above the list why the change was refused.
func (r *request) answerMembers(err error) error {
	var bad *kernel.ValidationError
	switch {
	case errors.As(err, &bad):
		return r.listMembers(http.StatusUnprocessableEntity, &membersScreen{
			Form: newInvitationForm(), Problem: bad.Problems[0].Message(),
		})
	case errors.Is(err, kernel.ErrPreconditionFailed):
		return r.listMembers(http.StatusConflict, &membersScreen{Form: newInvitationForm(),
			Problem: "Someone else has changed this role meanwhile. The list shows it now. Nothing was overwritten."})
	case err != nil:
		return err
	}
	return r.Redirect(frame.Path + "/members")
}
