package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// things are the objects of one workspace, which another one tries to use.
type things struct {
	slug, page, component, group, incident, update, template, maintenance, announcement string
	monitor, signal, subscriber, delivery, channel, rule, onCall, silence, alert        string
	token, invitation, member, session                                                  string
}

// verbs calls every method that acts for a workspace as an actor of another workspace. Each
// must find nothing; a list that needs no page must be empty.
var verbs = map[string]func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error{
	"Authenticate": nil, "CreateFirstToken": nil, "Bootstrap": nil, // by secret, or before there is a workspace
	"IssueTokenFor": nil, "AllTokens": nil, "RevokeAnyToken": nil, // the operator's, above workspaces
	// by ping token, or over all
	"RecordPings": nil, "RecordSignals": nil, "RecordLiveness": nil, "EachPingToken": nil, "Provision": nil,
	"HasPingKey": nil, "SignalsRecorded": nil, "WarningsAdded": nil, "RunsOverdue": nil, "MonitorsRunning": nil,
	"KeepsPings": nil, "SignalRetention": nil, "MergePings": nil, "OnPingMergeDue": nil, "Tick": nil,
	"ResumePaused": nil,
	// public
	"LoadPage": nil, "LoadMonth": nil, "LoadIncident": nil, "LoadMaintenance": nil, "LoadNewest": nil,
	"LoadPageImage": nil, "PublicPages": nil, "PageList": nil, "WatchPages": nil, "ReadPageChanges": nil,
	"FindResponse": nil, "Clock": nil, "CheckEnvironment": nil, "Prune": nil, "FailureThreshold": nil, "Shared": nil,
	"System": nil, "MayBackUp": nil, "OpenBackup": nil, "LastContact": nil, "Close": nil,
	"OnPageHidden": nil, "OnPageChange": nil, "OnNewPingToken": nil, "OnDeliveriesPending": nil,
	"OnMaintenanceChange": nil, "OnDomainCheckDue": nil, "BeforeReturn": nil, "Hosts": nil, "DisabledDomains": nil,
	// public, by key
	"RequestSignUp": nil, "Subscription": nil, "ConfirmSubscription": nil, "ConfirmWithCode": nil, "CanSeal": nil,
	"PushKey": nil, "SMSGateway": nil, "SetSMS": nil, "TakeSMS": nil, "ReturnSMS": nil, "SubscribeToEnd": nil,
	"ChangeSubscription": nil, "Unsubscribe": nil, "ResumeSubscription": nil, "SubscriptionPageSlug": nil,
	// over all
	"ClaimChecks": nil, "SaveCheckHosts": nil, "TickChecks": nil, "RecordCheckResults": nil, "FoldCheckResults": nil,
	"CheckSecrets": nil, "RotateSecrets": nil, "SealChannels": nil, "SetSecretKeys": nil,
	// public
	"ComponentStatistics": nil,
	// over all
	"AdvanceMaintenances": nil, "ProcessSignUps": nil, "FanOut": nil, "ClaimDeliveries": nil, "Notifications": nil,
	"SaveDeliveryResults": nil, "BeginDomainChecks": nil, "RecordDomainCheck": nil,
	// of the installation
	"SaveCertificateFile": nil, "CertificateFile": nil, "CertificatePaths": nil, "DeleteCertificateFiles": nil,
	"LockCertificate": nil, "UnlockCertificate": nil,
	// before the sign-in
	"Credentials": nil, "Users": nil, "IssueSetupCode": nil, "FindCode": nil, "SetUp": nil, "IssueResetCode": nil,
	"ResetPassword": nil, "IssueEnterCode": nil, "SignInWithCode": nil, "StartSession": nil, "FindSession": nil,
	"UseSession": nil, "FindInvitation": nil, "AcceptInvitation": nil, "AuthenticatorSecret": nil, "FinishSignIn": nil,
	"SignInWithPassword": nil, "SignInWithPasskey": nil, "IssuePasskeyChallenge": nil, "TakePasskeyChallenge": nil,
	"FindPasskey": nil, "UseSecondFactor": nil, "RemoveFactors": nil, "IdentityUser": nil, "HasIdentity": nil,
	"IssueStateCode": nil, "TakeStateCode": nil, "SignInIdentity": nil,
	// of the user alone
	"ChangePassword": nil, "Sessions": nil, "EndSession": nil, "EndOtherSessions": nil, "ConfirmSession": nil,
	"ChangeUser": nil, "SwitchWorkspace": nil, "Factors": nil, "SetAuthenticator": nil, "RenewRecoveryCodes": nil,
	"RemoveAuthenticator": nil, "Passkeys": nil, "AddPasskey": nil, "RenamePasskey": nil, "RemovePasskey": nil,
	"ConfirmWithPasskey": nil,
	// over all
	"AdvanceAlerts": nil, "ClaimMessages": nil, "SaveMessageResult": nil, "OnAlertsPending": nil, "Waiting": nil,
	"TakeChannelTests": nil, "RecordWeeklyTest": nil, "RecordRequestedTest": nil, "TakeConfirmations": nil,
	"ConfirmationSent": nil,
	// public, by key
	"FindConfirmation": nil, "ConfirmAddress": nil, "AlertThread": nil, "ThreadChannel": nil, "AcknowledgeThread": nil,
	"OnCallCalendar": nil,
	"AllMonitors":    nil, "Events": nil, "Gaps": nil, "Pools": nil, "SetFault": nil, // these tests' own

	"IssueToken": func(s *store.Store, ctx context.Context, _ kernel.Actor, x things) error {
		_, err := s.IssueToken(ctx, kernel.Actor{WorkspaceID: "ws_nobody"}, account.NewToken{
			Name: "x", Scope: kernel.ScopeRead,
		})
		if err != nil {
			return kernel.ErrNotFound // no such workspace
		}
		return nil
	},
	"AuditLog": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		log, _, err := s.AuditLog(ctx, ws, kernel.AuditFilter{ObjectID: x.component}, "", 100)
		return none(len(log), err, false)
	},
	"Tokens": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		list, total, err := s.Tokens(ctx, ws, firstHundred)
		return none(total-1, err, slices.ContainsFunc(list, func(t account.Token) bool { return t.ID == x.token }))
	},
	"RevokeToken": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.RevokeToken(ctx, ws, x.token)
	},
	"Pages": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, total, err := s.Pages(ctx, ws, store.Filter{}, firstHundred)
		return none(total, err, false)
	},
	"Page": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Page(ctx, ws, x.slug)
		return err
	},
	"PingKey": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.PingKey(ctx, ws, x.slug)
		return err
	},
	"ChangePingKey": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ChangePingKey(ctx, ws, x.slug, monitor.PingKeyChange{Access: new(monitor.PingAccessReadWrite)})
		return err
	},
	"RotatePingKey": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.RotatePingKey(ctx, ws, x.slug)
		return err
	},
	"PutPage": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.PutPage(ctx, ws, x.slug, resource.Page.From(statuspage.Page{Name: "x"}), kernel.Precondition{})
		return refused(err, "slug")
	},
	"PutMonitor": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.PutMonitor(ctx, ws, x.monitor,
			monitor.MonitorOf(monitor.MonitorConfig{Name: "x", Interval: time.Minute, PageSlug: x.slug}),
			kernel.Precondition{})
		return err
	},
	"CreatePage": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.CreatePage(ctx, ws, resource.Page.From(statuspage.Page{Name: "x", Slug: x.slug}))
		return refused(err, "slug")
	},
	"ChangePage": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ChangePage(ctx, ws, x.slug, resource.Page.From(statuspage.Page{Name: "x"}))
		return err
	},
	"ChangePageAccess": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ChangePageAccess(ctx, ws, x.slug, func(a *statuspage.PageAccess, _ time.Time) error {
			a.Members = true
			return nil
		})
		return err
	},
	"DeletePage": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.DeletePage(ctx, ws, x.slug)
	},
	"Incidents": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.Incidents(ctx, ws, x.slug, store.IncidentFilter{}, firstHundred)
		return err
	},
	"Incident": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Incident(ctx, ws, x.incident)
		return err
	},
	"CreateIncident": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.CreateIncident(ctx, ws, x.slug, statuspage.Incident{Title: "x"}, statuspage.IncidentUpdate{}, nil)
		return err
	},
	"BeginIncident": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.BeginIncident(ctx, ws, x.slug, "tpl", statuspage.Incident{}, statuspage.IncidentUpdate{})
		return err
	},
	"ChangeIncident": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ChangeIncident(ctx, ws, x.incident, func(i *statuspage.Incident) error {
			i.Title = "x"
			return nil
		}, statuspage.IncidentUpdate{}, "")
		return err
	},
	"DeleteIncident": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.DeleteIncident(ctx, ws, x.incident)
	},
	"Updates": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.Updates(ctx, ws, x.incident, firstHundred)
		return err
	},
	"Update": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Update(ctx, ws, x.incident, x.update)
		return err
	},
	"ChannelMessages": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ChannelMessages(ctx, ws, x.channel, 10)
		return err
	},
	"PrepareTest": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		// The address of the other workspace's channel is confirmed there alone, and its channel is not asked again.
		_, err := s.PrepareTest(ctx, ws, alert.Channel{
			ID: x.channel, Type: "email", Config: json.RawMessage(`{"to":"ops@example.com"}`),
		})
		return refused(err, "to")
	},
	"ForecastAlert": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ForecastAlert(ctx, ws, store.AlertQuestion{Event: alert.MonitorDown, Monitor: x.monitor})
		return refused(err, "monitor")
	},
	"Alerts": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		all, _, err := s.Alerts(ctx, ws, store.AlertFilter{}, firstHundred)
		return none(len(all), err, false)
	},
	"AlertList": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		l, err := s.AlertList(ctx, ws, store.AlertFilter{}, store.AlertCursor{}, 100)
		return none(len(l.Lasting)+len(l.Ended), err, false)
	},
	"AlertStanding": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		n, err := s.AlertStanding(ctx, ws)
		return none(n.Open+n.Acknowledged, err, false)
	},
	"Alert": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Alert(ctx, ws, x.alert)
		return err
	},
	"AcknowledgeAlert": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.AcknowledgeAlert(ctx, ws, x.alert)
		return err
	},
	"TakeOverIncident": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.TakeOverIncident(ctx, ws, x.incident, true)
		return err
	},
	"MergeIncident": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.MergeIncident(ctx, ws, x.incident, x.incident)
		return err
	},
	"Postmortem": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Postmortem(ctx, ws, x.incident)
		return err
	},
	"PutPostmortem": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.PutPostmortem(ctx, ws, x.incident, func(p *statuspage.Postmortem) error {
			p.Body = "x"
			return nil
		}, false, kernel.Precondition{})
		return err
	},
	"DeletePostmortem": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.DeletePostmortem(ctx, ws, x.incident, kernel.Precondition{})
	},
	"EditUpdate": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.EditUpdate(ctx, ws, x.incident, x.update, "x", kernel.Precondition{})
		return err
	},
	"DeleteUpdate": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.DeleteUpdate(ctx, ws, x.incident, x.update, kernel.Precondition{})
	},
	"PublishIncident": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.PublishIncident(ctx, ws, x.incident, false)
		return err
	},
	"PostUpdate": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.PostUpdate(ctx, ws, x.incident, statuspage.IncidentUpdate{Message: "x"}, nil)
		return err
	},
	"IncidentComponents": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.IncidentComponents(ctx, ws, x.incident)
		return err
	},
	"ListIncidents": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		incidents, _, err := s.ListIncidents(ctx, ws, x.slug, firstHundred)
		return none(len(incidents), err, false)
	},
	"IncidentWithPage": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.IncidentWithPage(ctx, ws, x.incident)
		return err
	},
	"Audience": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Audience(ctx, ws, x.slug, x.incident, nil)
		return err
	},
	"ListMaintenances": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		maintenances, _, err := s.ListMaintenances(ctx, ws, x.slug, firstHundred)
		return none(len(maintenances), err, false)
	},
	"MaintenanceWithPage": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.MaintenanceWithPage(ctx, ws, x.maintenance)
		return err
	},
	"ObjectLog": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		log, _, err := s.ObjectLog(ctx, ws, []string{x.component}, 100)
		return none(len(log), err, false)
	},
	"SetIncidentComponents": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.SetIncidentComponents(ctx, ws, x.incident, affecting(statuspage.AffectedComponent{
			ComponentID: x.component, Status: kernel.StatusMajorOutage,
		}))
		return err
	},
	"Maintenances": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.Maintenances(ctx, ws, x.slug, "", firstHundred)
		return err
	},
	"Maintenance": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Maintenance(ctx, ws, x.maintenance)
		return err
	},
	"MaintenanceUpdates": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.MaintenanceUpdates(ctx, ws, x.maintenance, firstHundred)
		return err
	},
	"CreateMaintenance": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.CreateMaintenance(ctx, ws, x.slug, resource.Maintenance.From(statuspage.Maintenance{
			Title: "x", ScheduledFor: began.Add(time.Hour), ScheduledUntil: began.Add(2 * time.Hour),
			Components: statuspage.ComponentRefs(x.component),
		}))
		return err
	},
	"ChangeMaintenance": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ChangeMaintenance(ctx, ws, x.maintenance, func(m *statuspage.Maintenance) error {
			m.State, m.Components = statuspage.MaintenanceCompleted, statuspage.ComponentRefs()
			return nil
		}, "")
		return err
	},
	"PostMaintenanceUpdate": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.PostMaintenanceUpdate(ctx, ws, x.maintenance,
			resource.MaintenanceUpdate.From(statuspage.MaintenanceUpdate{
				Message: "x", State: statuspage.MaintenanceVerifying,
			}),
			"")
		return err
	},
	"DeleteMaintenance": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.DeleteMaintenance(ctx, ws, x.maintenance)
	},
	"SetPageImage": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.SetPageImage(ctx, ws, x.slug, statuspage.PageImage{
			Kind: statuspage.ImageLogo, Type: "image/png", Name: "x", Body: []byte("x"),
		})
		return err
	},
	"DeletePageImage": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.DeletePageImage(ctx, ws, x.slug, statuspage.ImageLogo)
		return err
	},
	"Summary": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Summary(ctx, ws, x.slug)
		return err
	},
	"Monitors": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, total, err := s.Monitors(ctx, ws, store.MonitorFilter{}, firstHundred)
		return none(total, err, false)
	},
	"MonitorList": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		list, err := s.MonitorList(ctx, ws, store.MonitorQuery{}, firstHundred)
		return none(list.Total+len(list.Pages), err, false)
	},
	"MonitorPlaces": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		places, err := s.MonitorPlaces(ctx, ws)
		return none(len(places), err, false)
	},
	"MonitorCheck": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.MonitorCheck(ctx, ws, x.monitor)
		return err
	},
	"MonitorFamily": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		family, err := s.MonitorFamily(ctx, ws, monitor.Monitor{
			MonitorConfig: monitor.MonitorConfig{ParentID: x.monitor},
		})
		if err == nil && len(family) == 0 {
			err = kernel.ErrNotFound
		}
		return err
	},
	"MonitorDetail": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.MonitorDetail(ctx, ws, x.monitor)
		return err
	},
	"Signals": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.Signals(ctx, ws, x.monitor, store.SignalFilter{}, 10)
		return err
	},
	"Warnings": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.Warnings(ctx, ws, x.monitor, store.WarningFilter{}, 10)
		return err
	},
	"Signal": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Signal(ctx, ws, x.monitor, x.signal)
		return err
	},
	"IncidentNotes": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.IncidentNotes(ctx, ws, x.incident, firstHundred)
		return err
	},
	"ExplainMonitor": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ExplainMonitor(ctx, ws, x.monitor)
		return err
	},
	"Monitor": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Monitor(ctx, ws, x.monitor)
		return err
	},
	"CreateUniqueMonitor": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.CreateUniqueMonitor(ctx, ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "x", Interval: time.Minute, PageSlug: x.slug, ComponentID: x.component,
		}))
		return refused(err, "page")
	},
	"CreateMonitor": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.CreateMonitor(ctx, ws, monitor.MonitorOf(monitor.MonitorConfig{
			Name: "x", Interval: time.Minute, PageSlug: x.slug, ComponentID: x.component,
		}))
		return refused(err, "page")
	},
	"ChangeMonitor": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ChangeMonitor(ctx, ws, x.monitor, func(c *monitor.MonitorConfig) error { c.Name = "x"; return nil })
		return err
	},
	"CheckStatistics": func(s *store.Store, c context.Context, ws kernel.Actor, x things) error {
		_, err := s.CheckStatistics(c, ws, x.monitor, store.StatisticsRange{
			From: time.Unix(0, 0), To: time.Unix(3600, 0), Step: time.Hour,
		})
		return err
	},
	"CheckResults": func(s *store.Store, c context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.CheckResults(c, ws, x.monitor, store.Pagination{Page: 1, PerPage: 1})
		return err
	},
	"Outages": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.Outages(ctx, ws, x.monitor, firstHundred)
		return err
	},
	"RotateMonitor": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.RotateMonitor(ctx, ws, x.monitor)
		return err
	},
	"Subscribers": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.Subscribers(ctx, ws, x.slug, store.SubscriberFilter{}, firstHundred)
		return err
	},
	"AuditSubscriberExport": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.AuditSubscriberExport(ctx, ws, x.slug)
	},
	"SubscribersBefore": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.SubscribersBefore(ctx, ws, x.slug, "", 100)
		return err
	},
	"Subscriber": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Subscriber(ctx, ws, x.slug, x.subscriber)
		return err
	},
	"CreateSubscriber": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.CreateSubscriber(ctx, ws, x.slug,
			audience.NewSubscriber{Channel: audience.ChannelEmail, Target: "new@example.com"}, nil)
		return err
	},
	"ImportSubscribers": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ImportSubscribers(ctx, ws, x.slug, audience.SubscriberImport{
			CSV: "imported@example.com", Consent: "signed up",
		})
		return err
	},
	"ChangeSubscriber": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ChangeSubscriber(ctx, ws, x.slug, x.subscriber, kernel.Precondition{}, askForWarnings(true))
		return err
	},
	"DeleteSubscriber": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.DeleteSubscriber(ctx, ws, x.slug, x.subscriber, kernel.Precondition{})
	},
	"ResumeSubscriber": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ResumeSubscriber(ctx, ws, x.slug, x.subscriber)
		return err
	},
	"SendTestMessage": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.SendTestMessage(ctx, ws, x.slug, x.subscriber)
		return err
	},
	"RotateSubscriber": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.RotateSubscriber(ctx, ws, x.slug, x.subscriber)
		return err
	},
	"Deliveries": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := s.Deliveries(ctx, ws, x.slug, store.DeliveryFilter{}, firstHundred)
		return err
	},
	"RetryDelivery": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.RetryDelivery(ctx, ws, x.delivery)
		return err
	},
	"Members": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, total, err := s.Members(ctx, ws, firstHundred)
		return none(total, err, false)
	},
	"ChangeMember": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.ChangeMember(ctx, ws, x.member, account.MemberChange{Role: kernel.RoleViewer})
		return err
	},
	"RemoveMember": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.RemoveMember(ctx, ws, x.member)
	},
	"Invite": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.Invite(ctx, ws, account.NewInvitation{Email: "eve@example.com", Role: kernel.RoleOwner})
		return refused(err, "role")
	},
	"Invitations": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, total, err := s.Invitations(ctx, ws, firstHundred)
		return none(total, err, false)
	},
	"MemberSessions": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, total, err := s.MemberSessions(ctx, ws, firstHundred)
		return none(total, err, false)
	},
	"EndMemberSession": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.EndMemberSession(ctx, ws, x.session)
	},
	"WithdrawInvitation": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.WithdrawInvitation(ctx, ws, x.invitation)
	},
	"Overview": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		o, err := s.Overview(ctx, ws)
		return none(len(o.Pages)+len(o.Incidents)+len(o.Troubled)+len(o.Maintenances)+o.Monitors, err, false)
	},
	"Search": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		f, err := s.Search(ctx, ws, "a")
		return none(len(f.Monitors)+len(f.Components)+len(f.Pages)+len(f.Incidents), err, false)
	},
	"MoveComponent": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.MoveComponent(ctx, ws, x.slug, x.component, 1)
	},
	"MoveGroup": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.MoveGroup(ctx, ws, x.slug, x.group, 1)
	},
	"PlaceComponent": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.PlaceComponent(ctx, ws, x.slug, x.component, statuspage.Place{})
		return err
	},
	"PlaceGroup": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := s.PlaceGroup(ctx, ws, x.slug, x.group, statuspage.Place{})
		return err
	},
	"PageSizes": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		sizes, err := s.PageSizes(ctx, ws, []string{x.page})
		return none(len(sizes), err, false)
	},
	"DeleteMonitor": func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return s.DeleteMonitor(ctx, ws, x.monitor)
	},
}

var firstHundred = store.Pagination{Page: 1, PerPage: 100}

// none turns an empty list into the error that another workspace must get.
func none(found int, err error, leaked bool) error {
	if err != nil || found != 0 || leaked {
		return err
	}
	return kernel.ErrNotFound
}

// refused turns a validation error of this field alone into the error that another
// workspace must get.
func refused(err error, field string) error {
	invalid := new(kernel.ValidationError)
	if errors.As(err, &invalid) && len(invalid.Messages()) == 1 && invalid.Has(field) {
		return kernel.ErrNotFound
	}
	return err
}

func keys[V any](m map[string]V) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	return names
}
