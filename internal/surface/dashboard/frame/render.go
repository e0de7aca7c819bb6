package frame

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/assets"
)

// templateOf returns the template of a screen.
func (f *Frame) templateOf(name string) (*template.Template, error) {
	for _, room := range f.rooms {
		if t := room.Templates()[name]; t != nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("there is no template %q", name)
}

// functions returns the template functions that several rooms use.
func functions() template.FuncMap {
	english := i18n.English()
	return template.FuncMap{
		"asset":  assets.URL,
		"tone":   func(t interface{ Tone() *kernel.Tone }) string { return t.Tone().Name },
		"status": english.Status, "state": english.State,
		"impact":           english.Impact,
		"maintenanceState": english.MaintenanceState,
		"duration":         english.Duration,
		"time":             timeElement,
		"lower":            strings.ToLower,
		"roleName":         RoleName,

		"moment":  func(t time.Time) template.HTML { return template.HTML(SentenceTime(t)) },
		"problem": CheckProblem, "alertCount": AlertCount,
		"second": secondElement,
	}
}

// RoleName returns the name of a role as it stands alone.
func RoleName(r kernel.Role) string { return strings.ToUpper(string(r[:1])) + string(r[1:]) }

// timeElement returns a time for people. A script shows it as the time elapsed, in the visitor's zone.
func timeElement(t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	return i18n.TimeElement(t.UTC(), "ago", i18n.English().DayYearClock)
}

// secondElement returns a time with seconds, for events that are close together.
func secondElement(t time.Time) template.HTML {
	return i18n.TimeElement(t.UTC(), "second", func(t time.Time) string { return t.Format("2 Jan, 15:04:05") })
}

// screen is the data of the layout around a screen.
type screen struct {
	Title     string
	Main      any // of the screen's template
	User      account.User
	Role      kernel.Role
	Workspace string
	Others    []account.Workspace // the other workspaces of the user
	SignedIn  bool
	Nav       []NavItem
	Section   NavItem // the entry of the navigation to which the screen belongs; shown if it has tabs
	Events    string  // URL of the event stream; "": none
	Tag       string  // see tagOf
	Notices   notices
}

// notices is what stands above a screen because alerts do not reach anyone.
type notices struct {
	Unheard       bool           // see store.AlertStanding
	CanAddChannel bool           // the visitor may
	Silence       *alert.Silence // holds back every alert; nil: none
}

// notices returns the notices of the requested screen: of a silence everywhere, of missing rules where people look for
// problems.
func (r *Request) notices() notices {
	if r.SignedIn.ID == "" || !r.May(rights.AlertRead) {
		return notices{}
	}
	standing, _ := r.AlertStanding()
	path := r.URL.Path
	watching := path == Path || strings.HasPrefix(path, MonitorsPath) || strings.HasPrefix(path, alert.Path)
	return notices{
		Unheard: standing.Unheard && watching, CanAddChannel: r.May(rights.ChannelChange), Silence: standing.Silence,
	}
}

// NavItem is a link of the navigation.
type NavItem struct {
	Label, Path, Icon string
	Needs             rights.Operation // not used if there are tabs
	// screens that share an entry of the navigation, which links to the first one; the layout links to all of them on
	// each of them
	Tabs    []NavItem
	Current bool
	Count   string // of open alerts; "": none, or UnknownCount
}

// Navigation lists the entries of the navigation.
var Navigation = []NavItem{
	{Label: "Search", Path: SearchPath, Icon: "search", Needs: rights.AccountChange},
	{Label: "Overview", Path: Path, Icon: "overview", Needs: rights.AccountChange},
	{Label: "Incidents", Path: Path + "/incidents", Icon: "incidents", Needs: rights.IncidentRead},
	{Label: "Maintenance", Path: Path + "/maintenances", Icon: "maintenances", Needs: rights.MaintenanceRead},
	{Label: "Monitors", Path: MonitorsPath, Icon: "monitors", Needs: rights.MonitorRead},
	{Label: "Alerts", Icon: "bell", Tabs: []NavItem{
		{Label: "Alerts", Path: alert.Path, Needs: rights.AlertRead},
		{Label: "Rules", Path: AlertRulesPath, Needs: rights.AlertRuleRead},
		{Label: "Channels", Path: ChannelsPath, Needs: rights.ChannelRead},
		{Label: "Silences", Path: SilencesPath, Needs: rights.SilenceRead},
		{Label: "On call", Path: OnCallPath, Needs: rights.OnCallRead},
	}},
	{Label: "Pages", Path: Path + "/pages", Icon: "pages", Needs: rights.PageRead},
	{Label: "Deliveries", Path: Path + "/deliveries", Icon: "deliveries", Needs: rights.DeliveryRead},
	{Label: "Tokens", Path: Path + "/tokens", Icon: "key", Needs: rights.TokenManage},
	{Label: "Audit log", Path: Path + "/audit", Icon: "audit", Needs: rights.AuditRead},
	{Label: "Members", Path: Path + "/members", Icon: "members", Needs: rights.MemberManage},
	{Label: "System", Path: Path + "/system", Icon: "settings", Needs: rights.SystemRead},
}

// Show answers with a screen. main is the data of its template. If the route is Live, and nothing failed, an event
// stream keeps the screen current while it is open.
func (r *Request) Show(status int, name, title string, main any) error {
	if f, ok := main.(interface{ setWorkspace(string) }); ok {
		f.setWorkspace(r.SignedIn.WorkspaceID)
	}
	s := screen{Title: title, Main: main}
	if r.keepCurrent && status == http.StatusOK {
		tag, err := r.tagOf(name, main)
		if err != nil {
			return err
		}
		r.W.Header().Set("ETag", `"`+tag+`"`)
		s.Tag, s.Events = tag, Path+"/live?"+url.Values{"of": {r.URL.RequestURI()}}.Encode()
	}
	return r.answer(status, name, s)
}

// tagOf returns a tag that changes with the contents of a screen. Times are written as instants, so the tag does not
// change merely because time passes.
func (r *Request) tagOf(name string, main any) (string, error) {
	t, err := r.templateOf(name)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if err := t.ExecuteTemplate(sum, "main", main); err != nil {
		return "", err
	}
	if err := t.ExecuteTemplate(sum, "notices", r.notices()); err != nil {
		return "", err
	}
	fmt.Fprint(sum, r.OpenAlerts())
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

func (r *Request) answer(status int, name string, s screen) error {
	body, err := r.render(name, s)
	if err != nil {
		return err
	}
	r.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.W.WriteHeader(status)
	if r.Method != http.MethodHead {
		r.W.Write(body)
	}
	return nil
}

// countTimeout is how long a screen waits for the number of open alerts.
const countTimeout = time.Second

// UnknownCount is shown instead of a number that could not be read.
const UnknownCount = "?"

// AlertStanding returns what every screen shows of alerts. ok is false if it could not be read.
func (r *Request) AlertStanding() (standing store.AlertStanding, ok bool) {
	if r.alerts == nil {
		ctx, cancel := context.WithTimeout(r.Context(), countTimeout)
		defer cancel()
		standing, err := r.Store.AlertStanding(ctx, r.Actor())
		if err != nil {
			r.Log.WarnContext(ctx, "reading the state of alerts failed", "error", err)
		}
		r.alerts = &alertStanding{standing, err == nil}
	}
	return r.alerts.AlertStanding, r.alerts.ok
}

// alertStanding is the result of Request.AlertStanding.
type alertStanding struct {
	store.AlertStanding
	ok bool
}

// OpenAlerts returns the number of open alerts for the navigation; "" if there is none.
func (r *Request) OpenAlerts() string {
	switch standing, ok := r.AlertStanding(); {
	case !ok:
		return UnknownCount
	case standing.Open > 0:
		return AlertCount(standing.Open)
	}
	return ""
}

// AlertCount returns a number of alerts as text, such as "1000+": the store stops counting at a maximum.
func AlertCount(n int) string {
	if n >= store.MaxAlertCount {
		return strconv.Itoa(store.MaxAlertCount) + "+"
	}
	return strconv.Itoa(n)
}

// Visible returns the links that the visitor may follow.
func (r *Request) Visible(items []NavItem) (all []NavItem) {
	for _, item := range items {
		if item.Tabs == nil && !r.May(item.Needs) {
			continue
		}
		item.Current = item.contains(r.URL.Path)
		if item.Path == alert.Path {
			item.Count = r.OpenAlerts()
		}
		if item.Tabs != nil {
			if item.Tabs = r.Visible(item.Tabs); len(item.Tabs) == 0 {
				continue
			}
			item.Path, item.Count = item.Tabs[0].Path, item.Tabs[0].Count
			item.Current = slices.ContainsFunc(item.Tabs, func(tab NavItem) bool { return tab.Current })
		}
		all = append(all, item)
	}
	return all
}

// contains reports whether a path is the path of the link, or below it.
func (n NavItem) contains(path string) bool {
	return path == n.Path || n.Path != Path && strings.HasPrefix(path, n.Path+"/")
}

// render returns a screen within the layout.
func (r *Request) render(name string, s screen) ([]byte, error) {
	s.SignedIn = r.SignedIn.ID != ""
	if s.SignedIn {
		s.User, s.Role = r.SignedIn.User, r.SignedIn.Role
		for _, w := range r.SignedIn.Workspaces {
			if w.ID == r.SignedIn.WorkspaceID {
				s.Workspace = w.Name
			} else {
				s.Others = append(s.Others, w)
			}
		}
		s.Nav, s.Notices = r.Visible(Navigation), r.notices()
		for _, item := range s.Nav {
			if item.Current {
				s.Section = item
			}
		}
	}
	t, err := r.templateOf(name)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if err := t.ExecuteTemplate(&body, "layout.html", s); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// SentenceSecond returns a time to the second within a sentence. Sentences and times need no escaping.
func SentenceSecond(t time.Time) string { return string(secondElement(t)) }

// SentenceAgo returns a recent time within a sentence: how long ago it was. Sentences and times need no escaping.
func SentenceAgo(t time.Time) string { return string(timeElement(t)) }

// SentenceTime returns a time within a sentence. Sentences and times need no escaping.
func SentenceTime(t time.Time) string {
	return string(i18n.TimeElement(t.UTC(), "dayclock", i18n.English().DayClock))
}
