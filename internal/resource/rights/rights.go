// Package rights says who may do what. It has the only table of rights: the routes of the API and of the dashboard name
// an operation, and the scopes of tokens, the roles of members, the limits to pages and docs/rights.md follow from it.
// docs/decisions/0121-one-table-of-rights.md has the reasons.
package rights

import "github.com/allswell/allswell/internal/domain/kernel"

//go:generate go test -run ^TestDocument$ . -update

// Right is what an operation needs: a scope of a token, or a role of a member.
type Right struct {
	Scope kernel.Scope // "": no token may
	Role  kernel.Role  // "": no member may
}

// The rights. A new one needs a reason: see TestRights.
var (
	View       = Right{kernel.ScopeRead, kernel.RoleViewer}
	Operate    = Right{kernel.ScopeWrite, kernel.RoleEditor}
	Manage     = Right{kernel.ScopeWrite, kernel.RoleAdmin} // pages themselves, and their subscribers
	Administer = Right{kernel.ScopeAdmin, kernel.RoleAdmin}
)

// Reach says whether an operation is about some pages or about the whole workspace.
type Reach bool

const (
	OnPages   Reach = false // actors limited to pages may do it there
	Workspace Reach = true  // actors limited to pages may not do it
)

// Operation is something that a token or a member may do. The zero Operation is allowed to nobody.
type Operation struct {
	Name string
	Right
	Reach
	Text string // what it is, after "may"
}

// All lists the operations that need a right.
var All []Operation

func add(name string, right Right, reach Reach, text string) Operation {
	o := Operation{name, right, reach, text}
	All = append(All, o)
	return o
}

// Operations that need neither a token nor a session.
var (
	Anyone = Operation{Name: "anyone"} // the sign-in, and what a link with a secret leads to
	Signed = Operation{Name: "signed"} // signed by a program: the handler reads and verifies the body
)

// Pages and what is on them.
var (
	PageRead   = add("page.read", View, OnPages, "read pages with their settings, images and uptime")
	PageCreate = add("page.create", Manage, Workspace, "create a page")
	PageChange = add("page.change", Manage, OnPages,
		"change a page's settings, images, domain, home and visibility")
	PageDelete       = add("page.delete", Manage, OnPages, "delete a page with all that is on it")
	PageAccessRead   = add("page_access.read", Operate, OnPages, "read who can see a private page")
	PageAccessChange = add("page_access.change", Manage, OnPages, "change who can see a private page")
	PingKeyRead      = add("ping_key.read", Operate, OnPages, "read the ping key of a page")
	PingKeyChange    = add("ping_key.change", Operate, OnPages, "change and rotate the ping key of a page")

	GroupRead       = add("group.read", View, OnPages, "read groups")
	GroupChange     = add("group.change", Operate, OnPages, "create, change, move and delete groups")
	ComponentRead   = add("component.read", View, OnPages, "read components")
	ComponentChange = add("component.change", Operate, OnPages,
		"create, change, move and delete components; set their status")

	IncidentRead   = add("incident.read", View, OnPages, "read incidents with their updates, notes and post-mortems")
	IncidentChange = add("incident.change", Operate, OnPages,
		"report, change, publish, take over, merge and delete incidents; write updates and post-mortems")
	TemplateRead   = add("incident_template.read", View, OnPages, "read templates of incidents")
	TemplateChange = add("incident_template.change", Operate, OnPages, "create, change and delete templates of a page")
	// The routes name TemplateChange: whether a template belongs to all pages is known when it is loaded.
	SharedTemplateChange = add("incident_template.change_shared", Operate, Workspace,
		"create, change and delete templates of all pages")
	MaintenanceRead   = add("maintenance.read", View, OnPages, "read maintenance with its updates")
	MaintenanceChange = add("maintenance.change", Operate, OnPages,
		"schedule, change and delete maintenance; write updates")
	AnnouncementRead   = add("announcement.read", View, OnPages, "read announcements")
	AnnouncementChange = add("announcement.change", Operate, OnPages, "create, change and delete announcements")

	DeliveryRead       = add("delivery.read", View, OnPages, "read deliveries to subscribers, without recipients")
	DeliveryRecipients = add("delivery.read_recipients", Manage, OnPages, "read the recipients of deliveries")
	DeliveryRetry      = add("delivery.retry", Operate, OnPages, "retry deliveries")
	SubscriberRead     = add("subscriber.read", Manage, OnPages, "read subscribers with their addresses")
	SubscriberChange   = add("subscriber.change", Manage, OnPages, "add, import, change, test and remove subscribers")
)

// Monitors and alerts. A monitor on no page does not exist for actors who are limited to pages.
var (
	MonitorRead    = add("monitor.read", View, OnPages, "read monitors with their results, pings, outages and warnings")
	MonitorSecrets = add("monitor.read_secrets", Operate, OnPages, "read ping URLs, and the responses to failed checks")
	MonitorChange  = add("monitor.change", Operate, OnPages, "create, change, pause, test, rotate and delete monitors")

	AlertRead        = add("alert.read", View, OnPages, "read alerts")
	AlertAcknowledge = add("alert.acknowledge", Operate, OnPages, "acknowledge alerts")
	SilenceRead      = add("silence.read", View, Workspace, "read silences")
	SilenceChange    = add("silence.change", Operate, Workspace, "create, change and end silences")
	OnCallRead       = add("on_call.read", View, Workspace, "read on-call schedules")
	OnCallChange     = add("on_call.change", Operate, Workspace,
		"create, change and delete on-call schedules and overrides")
	AlertRuleRead   = add("alert_rule.read", View, Workspace, "read alert rules, and show whom an event would notify")
	AlertRuleChange = add("alert_rule.change", Administer, Workspace, "create, change and delete alert rules")
	ChannelRead     = add("channel.read", View, Workspace, "read alert channels, without secrets")
	ChannelChange   = add("channel.change", Administer, Workspace, "create, change, test and delete alert channels")
)

// The workspace, and operations for members only.
var (
	TokenManage  = add("token.manage", Administer, Workspace, "read, create and revoke tokens")
	MemberManage = add("member.manage", Administer, Workspace,
		"read, invite, change and remove members; only owners do it with owners")
	// In the dashboard, members end only their own sessions, which belong to the account.
	SessionManage = add("session.manage", Administer, Workspace, "read and end the sessions of members")
	AuditRead     = add("audit.read", Administer, Workspace, "read the audit log")

	AccountChange = add("account.change", Right{Role: kernel.RoleViewer}, OnPages,
		"use the dashboard; change their own account and end their own sessions")
	SystemRead = add("system.read", Right{Role: kernel.RoleAdmin}, Workspace,
		"read the state and the settings of the system")
	SystemBackUp = add("system.back_up", Right{Role: kernel.RoleOwner}, Workspace, "download a backup")
)

// AllowsScope reports whether a token with a scope may do the operation.
func (o Operation) AllowsScope(scope kernel.Scope) bool {
	return o.Scope.Valid() && scope.Allows(o.Scope)
}

// AllowsRole reports whether a member with a role may do the operation.
func (o Operation) AllowsRole(role kernel.Role) bool {
	return o.Role.Valid() && role.Includes(o.Role)
}

// CheckLimit returns kernel.ErrPageLimited if the actor is limited to some pages and the operation is about the whole
// workspace. Operations on pages find only the pages that the actor reaches.
func (o Operation) CheckLimit(actor kernel.Actor) error {
	if actor.PageLimited && o.Reach == Workspace {
		return kernel.ErrPageLimited
	}
	return nil
}
