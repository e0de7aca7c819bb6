package client_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/resource"
)

// operation calls an operation of the API. body is the request's type, and resource the type in the answer, or in the
// answer's list.
type operation struct {
	call           func(context.Context, *client.Client) error
	body, resource any
}

// operations has the operations of the API. The operations of described resources are added by init.
var operations = map[string]operation{
	"listPages": {list((*client.Client).ListPages), nil, client.Page{}},
	"createPage": {func(ctx context.Context, c *client.Client) error {
		return second(c.CreatePage(ctx, client.NewPage{}))
	}, client.NewPage{}, client.Page{}},
	"getPage": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetPage(ctx, "acme"))
	}, nil, client.Page{}},
	"putPage": {func(ctx context.Context, c *client.Client) error {
		return second(c.PutPage(ctx, "acme", client.NewPage{}))
	}, client.NewPage{}, client.Page{}},
	"putMonitor": {func(ctx context.Context, c *client.Client) error {
		return second(c.PutMonitor(ctx, "nightly", client.NewMonitor{}))
	}, client.NewMonitor{}, client.Monitor{}},
	"changePage": {func(ctx context.Context, c *client.Client) error {
		return second(c.ChangePage(ctx, "acme", client.PageChange{}))
	}, client.PageChange{}, client.Page{}},
	"deletePage": {func(ctx context.Context, c *client.Client) error { return c.DeletePage(ctx, "acme") }, nil, nil},
	"setLogo": {func(ctx context.Context, c *client.Client) error {
		return second(c.SetLogo(ctx, "acme", []byte{1}))
	}, nil, client.Page{}},
	"setDarkLogo": {func(ctx context.Context, c *client.Client) error {
		return second(c.SetDarkLogo(ctx, "acme", []byte{1}))
	}, nil, client.Page{}},
	"deleteDarkLogo": {func(ctx context.Context, c *client.Client) error {
		return c.DeleteDarkLogo(ctx, "acme")
	}, nil, nil},
	"deleteLogo": {func(ctx context.Context, c *client.Client) error { return c.DeleteLogo(ctx, "acme") }, nil, nil},
	"setIcon": {func(ctx context.Context, c *client.Client) error {
		return second(c.SetIcon(ctx, "acme", []byte{1}))
	}, nil, client.Page{}},
	"deleteIcon": {func(ctx context.Context, c *client.Client) error { return c.DeleteIcon(ctx, "acme") }, nil, nil},
	"getPingKey": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetPingKey(ctx, "acme"))
	}, nil, client.PingKey{}},
	"changePingKey": {func(ctx context.Context, c *client.Client) error {
		return second(c.ChangePingKey(ctx, "acme", client.PingKeyChange{
			Access: new(client.PingAccessPingOnly), Key: new("0123456789abcdefghijkl"),
		}))
	}, client.PingKeyChange{}, client.PingKey{}},
	"rotatePingKey": {func(ctx context.Context, c *client.Client) error {
		return second(c.RotatePingKey(ctx, "acme"))
	}, nil, client.PingKey{}},
	"getPageAccess": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetPageAccess(ctx, "acme"))
	}, nil, client.PageAccess{}},
	"changePageAccess": {func(ctx context.Context, c *client.Client) error {
		return second(c.ChangePageAccess(ctx, "acme", client.PageAccessChange{}))
	}, client.PageAccessChange{}, client.PageAccess{}},
	"getDomain": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetDomain(ctx, "acme"))
	}, nil, client.PageDomain{}},
	"verifyDomain": {func(ctx context.Context, c *client.Client) error {
		return second(c.VerifyDomain(ctx, "acme"))
	}, nil, client.PageDomain{}},
	"getUptime": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetUptime(ctx, "acme", client.UptimeOptions{Days: 7, Hidden: true}))
	}, nil, client.Uptime{}},

	"listChannels": {list((*client.Client).ListChannels), nil, client.Channel{}},
	"testChannel": {func(ctx context.Context, c *client.Client) error {
		return second(c.TestChannel(ctx, "chn_1"))
	}, nil, client.ChannelTestResult{}},
	"testNewChannel": {func(ctx context.Context, c *client.Client) error {
		return second(c.TestNewChannel(ctx, client.ChannelTest{}))
	}, client.ChannelTest{}, client.ChannelTestResult{}},
	"testAlertRules": {func(ctx context.Context, c *client.Client) error {
		return second(c.TestAlertRules(ctx, client.AlertQuestion{}))
	}, client.AlertQuestion{}, client.AlertForecast{}},
	"listAlerts": {list(func(c *client.Client) *client.List[client.Alert] {
		return c.ListAlerts(client.AlertFilter{})
	}), nil, client.Alert{}},
	"getAlert": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetAlert(ctx, "alt_1"))
	}, nil, client.Alert{}},
	"acknowledgeAlert": {func(ctx context.Context, c *client.Client) error {
		return second(c.AcknowledgeAlert(ctx, "alt_1"))
	}, nil, client.Alert{}},
	"endSilence": {func(ctx context.Context, c *client.Client) error { return c.EndSilence(ctx, "sil_1") }, nil, nil},
	"listOnCall": {list((*client.Client).ListOnCall), nil, client.OnCall{}},

	"publishIncident": {func(ctx context.Context, c *client.Client) error {
		return second(c.PublishIncident(ctx, "1"))
	}, nil, client.Incident{}},
	"explainMonitor": {func(ctx context.Context, c *client.Client) error {
		return second(c.ExplainMonitor(ctx, "mon_1"))
	}, nil, client.MonitorExplanation{}},
	"listPings": {func(ctx context.Context, c *client.Client) error {
		for _, err := range c.ListPings(ctx, "mon_1", client.SignalFail) {
			return err
		}
		return nil
	}, nil, client.Signal{}},
	"getMonitorMetrics": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetMonitorMetrics(ctx, "mon_1", time.Unix(0, 0), time.Unix(3600, 0), 5*time.Minute))
	}, nil, client.MonitorMetrics{}},
	"listWarnings": {func(ctx context.Context, c *client.Client) error {
		for _, err := range c.ListWarnings(ctx, "mon_1", client.ConditionMinRuntime) {
			return err
		}
		return nil
	}, nil, client.Warning{}},
	"getPingBody": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetPingBody(ctx, "mon_1", "sig_1"))
	}, nil, client.SignalBody{}},
	"listIncidentNotes": {list(func(c *client.Client) *client.List[client.IncidentNote] {
		return c.ListIncidentNotes("id")
	}), nil, client.IncidentNote{}},
	"signal": {func(ctx context.Context, c *client.Client) error {
		return c.Signal(ctx, "token", client.SignalReport{Kind: client.SignalStart})
	}, nil, nil},
	"listOutages": {list(func(c *client.Client) *client.List[client.Outage] {
		return c.ListOutages("mon_1")
	}), nil, client.Outage{}},
	"getMonitorSchedule": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetMonitorSchedule(ctx, "mon_1", 3))
	}, nil, client.DueTimes{}},

	"changeComponentStatus": {func(ctx context.Context, c *client.Client) error {
		return second(c.ChangeComponentStatus(ctx, "acme", "comp_1", client.ComponentStatusChange{}))
	}, client.ComponentStatusChange{}, client.Component{}},
	"editComponent": {func(ctx context.Context, c *client.Client) error {
		return second(c.EditComponent(ctx, "comp_1", client.ComponentChange{}))
	}, client.ComponentChange{}, client.Component{}},

	"listIncidents": {list(func(c *client.Client) *client.List[client.Incident] {
		return c.ListIncidents("acme", client.IncidentFilter{})
	}), nil, client.Incident{}},
	"createIncident": {func(ctx context.Context, c *client.Client) error {
		return second(c.CreateIncident(ctx, "acme", client.NewIncident{}))
	}, client.NewIncident{}, client.Incident{}},
	"getIncident": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetIncident(ctx, "i"))
	}, nil, client.Incident{}},
	"changeIncident": {func(ctx context.Context, c *client.Client) error {
		return second(c.ChangeIncident(ctx, "i", client.IncidentChange{}))
	}, client.IncidentChange{}, client.Incident{}},
	"deleteIncident": {func(ctx context.Context, c *client.Client) error {
		return c.DeleteIncident(ctx, "i")
	}, nil, nil},
	"listUpdates": {list(func(c *client.Client) *client.List[client.IncidentUpdate] {
		return c.ListUpdates("i")
	}), nil, client.IncidentUpdate{}},
	"getUpdate": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetUpdate(ctx, "i", "upd_1"))
	}, nil, client.IncidentUpdate{}},
	"editUpdate": {func(ctx context.Context, c *client.Client) error {
		return second(c.EditUpdate(ctx, "i", "upd_1", ""))
	}, client.UpdateEdit{}, client.IncidentUpdate{}},
	"deleteUpdate": {func(ctx context.Context, c *client.Client) error {
		return c.DeleteUpdate(ctx, "i", "upd_1")
	}, nil, nil},
	"takeOverIncident": {func(ctx context.Context, c *client.Client) error {
		return second(c.TakeOverIncident(ctx, "i"))
	}, nil, client.Incident{}},
	"giveBackIncident": {func(ctx context.Context, c *client.Client) error {
		return second(c.GiveBackIncident(ctx, "i"))
	}, nil, client.Incident{}},
	"mergeIncident": {func(ctx context.Context, c *client.Client) error {
		return second(c.MergeIncident(ctx, "i", "j"))
	}, client.IncidentMerge{}, client.Incident{}},
	"getPostmortem": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetPostmortem(ctx, "i"))
	}, nil, client.Postmortem{}},
	"putPostmortem": {func(ctx context.Context, c *client.Client) error {
		return second(c.PutPostmortem(ctx, "i", client.PostmortemInput{}))
	}, client.PostmortemInput{}, client.Postmortem{}},
	"deletePostmortem": {func(ctx context.Context, c *client.Client) error {
		return c.DeletePostmortem(ctx, "i")
	}, nil, nil},
	"postUpdate": {func(ctx context.Context, c *client.Client) error {
		return second(c.PostUpdate(ctx, "i", client.NewIncidentUpdate{}))
	}, client.NewIncidentUpdate{}, client.IncidentUpdate{}},
	"getAffectedComponents": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetAffectedComponents(ctx, "i"))
	}, nil, client.AffectedComponent{}},
	"setAffectedComponents": {func(ctx context.Context, c *client.Client) error {
		return second(c.SetAffectedComponents(ctx, "i", nil))
	}, struct {
		Components []client.AffectedStatus `json:"components"`
	}{}, client.AffectedComponent{}},

	"listMaintenances": {list(func(c *client.Client) *client.List[client.Maintenance] {
		return c.ListMaintenances("acme", client.MaintenanceFilter{})
	}), nil, client.Maintenance{}},
	"listMaintenanceUpdates": {list(func(c *client.Client) *client.List[client.MaintenanceUpdate] {
		return c.ListMaintenanceUpdates("mnt_1")
	}), nil, client.MaintenanceUpdate{}},
	"addMaintenanceUpdate": {func(ctx context.Context, c *client.Client) error {
		return second(c.AddMaintenanceUpdate(ctx, "mnt_1", client.NewMaintenanceUpdate{}))
	}, client.NewMaintenanceUpdate{}, client.MaintenanceUpdate{}},

	"listMonitors": {list(func(c *client.Client) *client.List[client.Monitor] {
		return c.ListMonitors(client.MonitorFilter{})
	}), nil, client.Monitor{}},
	"createMonitor": {func(ctx context.Context, c *client.Client) error {
		return second(c.CreateMonitor(ctx, client.NewMonitor{}))
	}, client.NewMonitor{}, client.Monitor{}},
	"getMonitor": {func(ctx context.Context, c *client.Client) error {
		return second(c.GetMonitor(ctx, "mon_1"))
	}, nil, client.Monitor{}},
	"changeMonitor": {func(ctx context.Context, c *client.Client) error {
		return second(c.ChangeMonitor(ctx, "mon_1", client.MonitorChange{}))
	}, client.MonitorChange{}, client.Monitor{}},
	"deleteMonitor": {func(ctx context.Context, c *client.Client) error {
		return c.DeleteMonitor(ctx, "mon_1")
	}, nil, nil},
	"listCheckResults": {list(func(c *client.Client) *client.List[client.CheckResult] {
		return c.ListCheckResults("mon_1")
	}), nil, client.CheckResult{}},
	"testMonitor": {func(ctx context.Context, c *client.Client) error {
		return second(c.TestMonitor(ctx, "mon_1"))
	}, nil, client.CheckResult{}},
	"testNewMonitor": {func(ctx context.Context, c *client.Client) error {
		return second(c.TestNewMonitor(ctx, client.CheckTest{}))
	}, client.CheckTest{}, client.CheckResult{}},
	"rotateMonitor": {func(ctx context.Context, c *client.Client) error {
		return second(c.RotateMonitor(ctx, "mon_1"))
	}, nil, client.Monitor{}},
	"ping": {func(ctx context.Context, c *client.Client) error { return c.Ping(ctx, "token") }, nil, nil},

	"importSubscribers": {func(ctx context.Context, c *client.Client) error {
		return second(c.ImportSubscribers(ctx, "acme", client.SubscriberImport{}))
	}, client.SubscriberImport{}, client.SubscriberImportReport{}},
	"rotateSubscriber": {func(ctx context.Context, c *client.Client) error {
		return second(c.RotateSubscriber(ctx, "acme", "sub_1"))
	}, nil, client.Subscriber{}},
	"resumeSubscriber": {func(ctx context.Context, c *client.Client) error {
		return second(c.ResumeSubscriber(ctx, "acme", "sub_1"))
	}, nil, client.Subscriber{}},
	"testSubscriber": {func(ctx context.Context, c *client.Client) error {
		return second(c.TestSubscriber(ctx, "acme", "sub_1"))
	}, nil, client.Delivery{}},
	"listDeliveries": {list(func(c *client.Client) *client.List[client.Delivery] {
		return c.ListDeliveries("acme", client.DeliveryFilter{})
	}), nil, client.Delivery{}},
	"retryDelivery": {func(ctx context.Context, c *client.Client) error {
		return second(c.RetryDelivery(ctx, "dlv_1"))
	}, nil, client.Delivery{}},

	"listAudit": {func(ctx context.Context, c *client.Client) error {
		for _, err := range c.ListAudit(ctx, client.AuditFilter{}) {
			return err
		}
		return nil
	}, nil, client.AuditEntry{}},
	"listTokens": {list((*client.Client).ListTokens), nil, client.Token{}},
	"issueToken": {func(ctx context.Context, c *client.Client) error {
		return second(c.IssueToken(ctx, client.NewToken{}))
	}, client.NewToken{}, client.Token{}},
	"revokeToken": {func(ctx context.Context, c *client.Client) error { return c.RevokeToken(ctx, "tok_1") }, nil, nil},
	"listMembers": {list((*client.Client).ListMembers), nil, client.Member{}},
	"changeMember": {func(ctx context.Context, c *client.Client) error {
		return second(c.ChangeMember(ctx, "usr_1", client.MemberChange{}))
	}, client.MemberChange{}, client.Member{}},
	"removeMember": {func(ctx context.Context, c *client.Client) error {
		return c.RemoveMember(ctx, "usr_1")
	}, nil, nil},
	"listInvitations": {list((*client.Client).ListInvitations), nil, client.Invitation{}},
	"createInvitation": {func(ctx context.Context, c *client.Client) error {
		return second(c.CreateInvitation(ctx, client.NewInvitation{}))
	}, client.NewInvitation{}, client.Invitation{}},
	"withdrawInvitation": {func(ctx context.Context, c *client.Client) error {
		return c.WithdrawInvitation(ctx, "inv_1")
	}, nil, nil},
	"listSessions": {list((*client.Client).ListSessions), nil, client.Session{}},
	"endSession":   {func(ctx context.Context, c *client.Client) error { return c.EndSession(ctx, "ses_1") }, nil, nil},
	"describe":     {func(ctx context.Context, c *client.Client) error { return second(c.Describe(ctx)) }, nil, nil},
}

// sameOperation has the operations that share the client method of another operation.
var sameOperation = map[string]string{
	"pingByGet": "ping", "pingByHead": "ping", "signalByGet": "signal", "signalByHead": "signal",
	"signalBySlug": "signal", "signalBySlugByGet": "signal", "signalBySlugByHead": "signal",
}

func second[T any](_ T, err error) error { return err }

func list[T any](of func(*client.Client) *client.List[T]) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		for _, err := range of(c).All(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// The operations of described resources.
func init() {
	for _, d := range resource.Descriptions {
		for _, name := range []string{
			"list" + d.TypeName() + "s", "create" + d.TypeName(), "get" + d.TypeName(), "put" + d.TypeName(),
			"change" + d.TypeName(), "delete" + d.TypeName(),
		} {
			method := strings.ToUpper(name[:1]) + name[1:]
			// TestOperations finds the missing ones
			if _, ok := reflect.TypeFor[*client.Client]().MethodByName(method); ok {
				operations[name] = calling(method)
			}
		}
	}
}

// calling calls a method of the client with whatever arguments.
func calling(name string) (o operation) {
	method, _ := reflect.TypeFor[*client.Client]().MethodByName(name)
	var args []reflect.Value // after the client and the context
	for i := 1; i < method.Type.NumIn(); i++ {
		switch in := method.Type.In(i); {
		case in.Kind() == reflect.String:
			args = append(args, reflect.ValueOf("x"))
		case in.Kind() == reflect.Bool:
			args = append(args, reflect.ValueOf(false))
		case in.Kind() == reflect.Struct:
			o.body = reflect.Zero(in).Interface()
			args = append(args, reflect.Zero(in))
		}
	}
	result := method.Type.Out(0)
	if items, isList := result.MethodByName("First"); isList {
		o.resource = reflect.Zero(items.Type.Out(0).Elem().Elem()).Interface()
		o.call = func(ctx context.Context, c *client.Client) error {
			all := method.Func.Call(append([]reflect.Value{reflect.ValueOf(c)}, args...))[0]
			return errorOf(all.MethodByName("First").Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(1)}))
		}
		return o
	}
	if method.Type.NumOut() == 2 {
		o.resource = reflect.Zero(result.Elem()).Interface()
	}
	o.call = func(ctx context.Context, c *client.Client) error {
		return errorOf(method.Func.Call(append([]reflect.Value{reflect.ValueOf(c), reflect.ValueOf(ctx)}, args...)))
	}
	return o
}

// errorOf returns the error among the results of a call, which is the last.
func errorOf(results []reflect.Value) error {
	err, _ := results[len(results)-1].Interface().(error)
	return err
}

// TestOperations compares the client with the OpenAPI document: every operation has a method with its name, which sends
// the operation's request; requests and resources have the fields of the document.
func TestOperations(t *testing.T) {
	document := readDocument(t)
	resources := make(map[reflect.Type]map[string]bool) // which keys the document gives them
	ids := make(map[string]bool)
	for path, methods := range document["paths"].(object) {
		for method, operation := range methods.(object) {
			operation, ok := operation.(object)
			if !ok || operation["operationId"] == nil {
				continue
			}
			id := operation["operationId"].(string)
			ids[id] = true
			if sameOperation[id] != "" {
				continue
			}
			t.Run(id, func(t *testing.T) {
				op, ok := operations[id]
				name := strings.ToUpper(id[:1]) + id[1:]
				if _, hasMethod := reflect.TypeFor[*client.Client]().MethodByName(name); !ok || !hasMethod {
					t.Fatalf("Client has no method %s for %s %s, or it is not in operations", name, method, path)
				}
				checkRequest(t, op.call, strings.ToUpper(method)+" "+path, operation)
				checkBody(t, document, operation, op.body)
				checkResource(t, document, operation, op.resource, resources)
			})
		}
	}
	for id := range operations {
		if !ids[id] {
			t.Errorf("the document has no operation %s", id)
		}
	}
	for resource, keys := range resources {
		for _, key := range keysOf(resource) {
			if !keys[key] {
				t.Errorf("%s.%s is not in the document", resource, key)
			}
		}
	}
}

// checkRequest performs a call and compares the request with the operation.
func checkRequest(t *testing.T, do func(context.Context, *client.Client) error, pattern string, operation object) {
	t.Helper()
	mux := http.NewServeMux()
	asked := 0
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		asked++
		_, hasKey := r.Header["Idempotency-Key"]
		if want := strings.Contains(marshal(t, operation["parameters"]), "idempotencyKey"); hasKey != want {
			t.Errorf("there is an Idempotency-Key: %v, want %v", hasKey, want)
		}
		_, public := operation["security"]
		if got := r.Header.Get("Authorization"); got != "Bearer secret" && !public || got != "" && public {
			t.Errorf("Authorization: %q", got)
		}
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case strings.Contains(marshal(t, operation["responses"]), `"array"`),
			strings.Contains(r.URL.Path, "components") && strings.Contains(r.URL.Path, "incidents"):
			w.Write([]byte(`{"data": [], "meta": {"total": 0}}`))
		default:
			w.Write([]byte(`{"data": {}}`))
		}
	})
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { t.Errorf("sent %s %s", r.Method, r.URL) })
	server := httptest.NewServer(mux)
	defer server.Close()
	c, err := client.New(server.URL, "secret", client.Options{Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := do(t.Context(), c); err != nil || asked != 1 {
		t.Errorf("the operation made %d requests, error %v", asked, err)
	}
}

// checkBody compares the fields of a request's type with the operation's.
func checkBody(t *testing.T, document, operation object, body any) {
	t.Helper()
	schema, _ := lookUp(document, operation, "requestBody", "content", "application/json", "schema").(object)
	var want, got []string
	if schema != nil {
		want = slices.Sorted(maps.Keys(ownProperties(schema["properties"])))
	}
	if body != nil {
		got = keysOf(reflect.TypeOf(body))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the request has the fields %q, want %q", got, want)
	}
}

// checkResource checks that a resource's type has all fields of the operation's answer, and notes these.
func checkResource(t *testing.T, document, operation object, resource any, resources map[reflect.Type]map[string]bool) {
	t.Helper()
	for _, status := range []string{"200", "201"} {
		data, _ := lookUp(document, operation, "responses", status, "content", "application/json", "schema",
			"properties", "data").(object)
		if data == nil {
			continue
		}
		if items, ok := lookUp(document, data, "items").(object); ok {
			data = items
		}
		schemas := []any{data}
		if of, ok := data["oneOf"].([]any); ok {
			schemas = of
		}
		if resource == nil {
			t.Error("the answer has a resource")
			continue
		}
		kind := reflect.TypeOf(resource)
		if resources[kind] == nil {
			resources[kind] = make(map[string]bool)
		}
		for _, schema := range schemas {
			for key := range ownProperties(lookUp(document, schema, "properties")) {
				resources[kind][key] = true
				if !slices.Contains(keysOf(kind), key) {
					t.Errorf("%s has no field for %s", kind, key)
				}
			}
		}
	}
}

// ownProperties returns the properties of a schema without the properties that only some types of checks or channels
// have. The client has these in a map.
func ownProperties(all any) object {
	own := maps.Clone(all.(object))
	maps.DeleteFunc(own, func(_ string, property any) bool { return property.(object)["x-types"] != nil })
	return own
}

type object = map[string]any

func readDocument(t *testing.T) (document object) {
	t.Helper()
	raw, err := os.ReadFile("../internal/surface/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// lookUp follows keys, and references, into a document. It returns nil if a key does not exist.
func lookUp(document object, in any, keys ...string) any {
	for {
		if o, ok := in.(object); ok && o["$ref"] != nil {
			path := strings.Split(strings.TrimPrefix(o["$ref"].(string), "#/"), "/")
			in = lookUp(document, document, path...)
			continue
		}
		if len(keys) == 0 {
			return in
		}
		o, ok := in.(object)
		if !ok {
			return nil
		}
		in, keys = o[keys[0]], keys[1:]
	}
}

// keysOf returns the JSON keys of a struct's fields.
func keysOf(kind reflect.Type) (keys []string) {
	for _, field := range reflect.VisibleFields(kind) {
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" && key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestExamples decodes every example of a resource in the document.
func TestExamples(t *testing.T) {
	document := readDocument(t)
	for name, decoded := range map[string]any{
		"Page": new(client.Page), "PageAccess": new(client.PageAccess), "PageDomain": new(client.PageDomain),
		"Group": new(client.Group), "Component": new(client.Component),
		"IncidentWithUpdates": new(client.Incident), "Update": new(client.IncidentUpdate),
		"IncidentTemplate": new(client.IncidentTemplate), "SavedUpdate": new(client.IncidentUpdate),
		"AffectedComponent":      new(client.AffectedComponent),
		"MaintenanceWithUpdates": new(client.Maintenance), "MaintenanceUpdate": new(client.MaintenanceUpdate),
		"HistoryDay": new(client.HistoryDay),
		"Monitor":    new(client.Monitor), "SubscriberWithSecret": new(client.Subscriber),
		"Delivery": new(client.Delivery), "IssuedToken": new(client.Token),
		"Member": new(client.Member), "IssuedInvitation": new(client.Invitation), "Session": new(client.Session),
	} {
		example := lookUp(document, document, "components", "schemas", name, "example")
		if err := json.Unmarshal([]byte(marshal(t, example)), decoded); err != nil || example == nil {
			t.Errorf("decoding the example of %s: %v", name, err)
			continue
		}
		var again object
		if err := json.Unmarshal([]byte(marshal(t, decoded)), &again); err != nil {
			t.Fatal(err)
		}
		for key, want := range example.(object) {
			if !isTime(want) && marshal(t, again[key]) != marshal(t, want) && key != "updates" && key != "seconds" {
				t.Errorf("%s.%s after encoding is %v, want %v", name, key, again[key], want)
			}
		}
	}
}

// isTime reports whether a value is a time, which may be written in several forms.
func isTime(v any) bool {
	text, ok := v.(string)
	_, err := time.Parse(time.RFC3339, text)
	return ok && err == nil
}
