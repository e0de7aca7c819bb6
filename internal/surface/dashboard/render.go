package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/assets"
)

//go:embed templates
var templateFiles embed.FS

// templates are the templates of the screens by name. They are parsed when the first screen is shown.
var templates = sync.OnceValue(func() map[string]*template.Template {
	shared := template.Must(template.New("layout.html").Funcs(functions()).ParseFS(templateFiles,
		"templates/layout.html", "templates/parts.html", "templates/icons.html"))
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err) // the files are embedded
	}
	all := make(map[string]*template.Template)
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), path.Ext(file.Name()))
		if shared.Lookup(file.Name()) != nil {
			continue
		}
		all[name] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, "templates/"+file.Name()))
	}
	return all
})

func templateOf(name string) (*template.Template, error) {
	if t := templates()[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("there is no template %q", name)
}

// functions returns the functions of the templates.
func functions() template.FuncMap {
	english := i18n.English()
	return template.FuncMap{
		"asset":            assets.URL,
		"tone":             func(t interface{ Tone() *kernel.Tone }) string { return t.Tone().Name },
		"status":           english.Status,
		"state":            english.State,
		"impact":           english.Impact,
		"maintenanceState": english.MaintenanceState,
		"duration":         english.Duration,
		"time":             timeElement,
		"lower":            strings.ToLower,
		"roleName":         roleName,

		"moment":        func(t time.Time) template.HTML { return template.HTML(sentenceTime(t)) },
		"conditionName": conditionName,
		"conditionTone": conditionTone,
		"typeName":      monitorTypeName,
		"target":        monitorTarget,
		"problem":       checkProblem,
		"alertState":    alertState,
		"alertCount":    alertCount,
		"second":        secondElement,
	}
}

// roleName returns the name of a role as it stands alone.
func roleName(r kernel.Role) string { return strings.ToUpper(string(r[:1])) + string(r[1:]) }

// timeElement returns a time for people. A script shows it as the time since then, in the zone of the visitor.
func timeElement(t time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	return i18n.TimeElement(t.UTC(), "ago", i18n.English().DayYearClock)
}

// secondElement returns a time to the second, for what happens several times a minute.
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
	Nav       []navItem
	Section   navItem // of the navigation, to which the screen belongs; shown if it has tabs
	Events    string  // the address of the event stream; "": none
	Tag       string  // of what is shown
}

// navItem is a link of the navigation.
type navItem struct {
	Label, Path, Icon string
	Needs             rights.Operation // not if there are tabs
	// screens that share a place in the navigation, which leads to the first one; the layout shows them on each of
	// these screens
	Tabs    []navItem
	Current bool
	Count   string // of open alerts; "": none, or unknownCount
}

// navigation lists the screens that the navigation leads to.
var navigation = []navItem{
	{Label: "Search", Path: searchPath, Icon: "search", Needs: rights.AccountChange},
	{Label: "Overview", Path: Path, Icon: "overview", Needs: rights.AccountChange},
	{Label: "Incidents", Path: Path + "/incidents", Icon: "incidents", Needs: rights.IncidentRead},
	{Label: "Maintenance", Path: Path + "/maintenances", Icon: "maintenances", Needs: rights.MaintenanceRead},
	{Label: "Monitors", Path: monitorsPath, Icon: "monitors", Needs: rights.MonitorRead},
	{Label: "Alerts", Icon: "bell", Tabs: []navItem{
		{Label: "Alerts", Path: alert.Path, Needs: rights.AlertRead},
		{Label: "Rules", Path: alertRulesPath, Needs: rights.AlertRuleRead},
		{Label: "Channels", Path: channelsPath, Needs: rights.ChannelRead},
		{Label: "Silences", Path: silencesPath, Needs: rights.SilenceRead},
		{Label: "On call", Path: onCallPath, Needs: rights.OnCallRead},
	}},
	{Label: "Pages", Path: Path + "/pages", Icon: "pages", Needs: rights.PageRead},
	{Label: "Deliveries", Path: Path + "/deliveries", Icon: "deliveries", Needs: rights.DeliveryRead},
	{Label: "Tokens", Path: Path + "/tokens", Icon: "key", Needs: rights.TokenManage},
	{Label: "Audit log", Path: Path + "/audit", Icon: "audit", Needs: rights.AuditRead},
	{Label: "Members", Path: Path + "/members", Icon: "members", Needs: rights.MemberManage},
	{Label: "System", Path: Path + "/system", Icon: "settings", Needs: rights.SystemRead},
}

// show answers with a screen. main is the data of its template.
func (v *visit) show(status int, name, title string, main any) error {
	if f, ok := main.(interface{ setWorkspace(string) }); ok {
		f.setWorkspace(v.in.WorkspaceID)
	}
	return v.answer(status, name, screen{Title: title, Main: main})
}

// showLive answers with a screen that is kept current while it is open.
func (v *visit) showLive(name, title string, main any) error {
	t, err := templateOf(name)
	if err != nil {
		return err
	}
	// Times are written as instants, so what is shown changes only when something happens.
	sum := sha256.New()
	if err := t.ExecuteTemplate(sum, "main", main); err != nil {
		return err
	}
	fmt.Fprint(sum, v.openAlerts())
	tag := hex.EncodeToString(sum.Sum(nil)[:8])
	v.w.Header().Set("ETag", `"`+tag+`"`)
	events := Path + "/live?" + url.Values{"of": {v.r.URL.RequestURI()}}.Encode()
	return v.answer(http.StatusOK, name, screen{Title: title, Main: main, Events: events, Tag: tag})
}

func (v *visit) answer(status int, name string, s screen) error {
	body, err := v.render(name, s)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	if v.r.Method != http.MethodHead {
		v.w.Write(body)
	}
	return nil
}

// countTimeout is how long a screen waits for the number of open alerts.
const countTimeout = time.Second

// unknownCount is shown in the place of a number that could not be read.
const unknownCount = "?"

// openAlerts returns the number of open alerts for the navigation; "" if there is none.
func (v *visit) openAlerts() string {
	if v.alerts == nil {
		ctx, cancel := context.WithTimeout(v.r.Context(), countTimeout)
		defer cancel()
		counts, err := v.store.AlertCounts(ctx, v.actor())
		text := ""
		switch {
		case err != nil:
			v.log.WarnContext(ctx, "counting open alerts failed", "error", err)
			text = unknownCount
		case counts.Open > 0:
			text = alertCount(counts.Open)
		}
		v.alerts = &text
	}
	return *v.alerts
}

// alertCount returns a number of alerts as text, such as "1000+": the store stops counting at a maximum.
func alertCount(n int) string {
	if n >= store.MaxAlertCount {
		return strconv.Itoa(store.MaxAlertCount) + "+"
	}
	return strconv.Itoa(n)
}

// visible returns the links that the visitor may follow.
func (v *visit) visible(items []navItem) (all []navItem) {
	for _, item := range items {
		if item.Tabs == nil && !v.may(item.Needs) {
			continue
		}
		item.Current = item.contains(v.r.URL.Path)
		if item.Path == alert.Path {
			item.Count = v.openAlerts()
		}
		if item.Tabs != nil {
			if item.Tabs = v.visible(item.Tabs); len(item.Tabs) == 0 {
				continue
			}
			item.Path, item.Count = item.Tabs[0].Path, item.Tabs[0].Count
			item.Current = slices.ContainsFunc(item.Tabs, func(tab navItem) bool { return tab.Current })
		}
		all = append(all, item)
	}
	return all
}

// contains reports whether a path is that of the link, or below it.
func (n navItem) contains(path string) bool {
	return path == n.Path || n.Path != Path && strings.HasPrefix(path, n.Path+"/")
}

// render returns a screen within the layout.
func (v *visit) render(name string, s screen) ([]byte, error) {
	s.SignedIn = v.in.ID != ""
	if s.SignedIn {
		s.User, s.Role = v.in.User, v.in.Role
		for _, w := range v.in.Workspaces {
			if w.ID == v.in.WorkspaceID {
				s.Workspace = w.Name
			} else {
				s.Others = append(s.Others, w)
			}
		}
		s.Nav = v.visible(navigation)
		for _, item := range s.Nav {
			if item.Current {
				s.Section = item
			}
		}
	}
	t, err := templateOf(name)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if err := t.ExecuteTemplate(&body, "layout.html", s); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}
