package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/configfield"
	"github.com/allswell/allswell/internal/settings"
	"github.com/allswell/allswell/internal/timeinput"
	"github.com/allswell/allswell/internal/web"
)

// monitorTypeName returns the name of a type of monitors for people.
func monitorTypeName(kind allswell.MonitorType) string {
	if t, ok := check.TypeOf(kind); ok {
		return t.Label
	}
	return "Heartbeat"
}

// monitorTarget returns what a monitor checks, in few words; "": it waits for pings.
func monitorTarget(m allswell.Monitor) string {
	var config struct {
		URL, Host string
		Port      int
	}
	if !m.IsCheck() || json.Unmarshal(m.Check.Config, &config) != nil {
		return ""
	}
	switch {
	case config.URL != "":
		return config.URL
	case config.Port > 0:
		return fmt.Sprintf("%s:%d", config.Host, config.Port)
	}
	return config.Host
}

// checkProblem returns why the last check of a monitor failed; "": it did not.
func checkProblem(m allswell.Monitor) string {
	if !m.IsCheck() || !m.Enabled || m.CheckState.Status != allswell.CheckFailed {
		return ""
	}
	return m.CheckState.Reason
}

// formField returns the field of a form for a field of a type. saved: the monitor has a secret in it.
func formField(f configfield.Field, saved bool) field {
	x := field{Name: f.Name, Label: f.Label, Hint: strings.TrimSuffix(f.Help, ".") + ".", Optional: !f.Required, Placeholder: f.Example}
	if x.Placeholder == "" && f.Kind != configfield.KindFlag {
		x.Placeholder = f.Default
	}
	switch f.Kind {
	case configfield.KindFlag:
		x.Type, x.Options = "select", []option{{Value: "false", Label: "No"}, {Value: "true", Label: "Yes"}}
	case configfield.KindList:
		x.Type, x.Rows, x.Wide = "textarea", 2, true
		x.Hint += " One on each line."
	case configfield.KindMap:
		x.Type, x.Rows, x.Wide = "textarea", 2, true
		x.Hint += " One on each line, as Name: value."
	case configfield.KindLongText:
		x.Type, x.Rows, x.Wide = "textarea", 4, true
	case configfield.KindInteger:
		x.InputMode = "numeric"
	default:
		x.Wide = f.Name == "url"
		if f.Choices != nil {
			x.Type, x.Options = "select", choicesOf(f)
		}
	}
	if f.Secret {
		x.Autocomplete = "new-password"
		if saved {
			x.Placeholder = ""
			x.Hint += " A value is saved, and is kept if this is left empty."
		}
	}
	return x
}

// choicesOf returns the choices of a field: its default is the first one, or none.
func choicesOf(f configfield.Field) (all []option) {
	if f.Default == "" {
		all = append(all, option{Label: "Any"})
	}
	for _, choice := range f.Choices {
		all = append(all, option{Value: choice, Label: choice})
	}
	return all
}

// lowerFirst returns a label within a phrase. Acronyms keep their capitals.
func lowerFirst(label string) string {
	if len(label) > 1 && label[1] >= 'a' {
		return strings.ToLower(label[:1]) + label[1:]
	}
	return label
}

// removal is the name of the field that says whether a saved secret is removed.
func removal(f configfield.Field) string { return removalPrefix + f.Name }

const removalPrefix = "remove."

// isRemoval reports whether a field is the removal of a saved secret.
func isRemoval(x field) bool { return strings.HasPrefix(x.Name, removalPrefix) }

// typeFields returns the fields of a form for those of a type that are advanced, or are not. secrets are the fields that have a secret.
func typeFields(t check.Type, advanced bool, secrets []string) (all []field) {
	for _, f := range t.Fields {
		if f.Advanced != advanced {
			continue
		}
		saved := slices.Contains(secrets, f.Name)
		all = append(all, formField(f, saved))
		if saved {
			all = append(all, field{Name: removal(f), Label: "Saved " + lowerFirst(f.Label), Type: "select", Options: []option{{Label: "is kept"}, {Value: "true", Label: "is removed"}}})
		}
	}
	return all
}

// countingFields are the fields of the form of a check that say when a result counts.
func countingFields(threshold int) []field {
	return []field{
		{Name: "timeout", Label: "Timeout", Optional: true, Placeholder: "10s", Hint: "The longest time that a check may take, less than the interval."},
		{Name: "slow_after", Label: "Slow after", Optional: true, Placeholder: "800ms", Hint: "A good result that takes longer is slow. Left empty, none is."},
		{Name: "failure_threshold", Label: "Failures in a row until it is down", Optional: true, Placeholder: strconv.Itoa(threshold), InputMode: "numeric", Hint: "Left empty, the setting of the server."},
		{Name: "recovery_threshold", Label: "Good results in a row until it is up", Optional: true, Placeholder: "1", InputMode: "numeric"},
		{Name: "confirm_from", Label: "Locations that must agree on a failure", Optional: true, Placeholder: "1", InputMode: "numeric", Hint: "For several replicas with ALLSWELL_LOCATION."},
	}
}

// setCheckValues sets the values of the fields of a check.
func setCheckValues(values url.Values, m allswell.Monitor) {
	c := m.Check
	values.Set("timeout", settings.ShortDuration(c.Timeout))
	if c.SlowAfter > 0 {
		values.Set("slow_after", c.SlowAfter.String())
	}
	values.Set("recovery_threshold", strconv.Itoa(c.RecoveryThreshold))
	values.Set("confirm_from", strconv.Itoa(c.ConfirmFrom))
	config := make(map[string]any)
	if json.Unmarshal(c.Config, &config) != nil {
		return // the form begins with the defaults
	}
	t, _ := check.TypeOf(m.Type)
	for _, f := range t.Fields {
		if text := formText(config[f.Name]); text != "" {
			values.Set(f.Name, text)
		}
	}
}

// formText returns a value of JSON as it is typed.
func formText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		var lines []string
		for _, entry := range v {
			lines = append(lines, fmt.Sprint(entry))
		}
		return strings.Join(lines, "\n")
	case map[string]any:
		var lines []string
		for name, entry := range v {
			lines = append(lines, fmt.Sprintf("%s: %v", name, entry))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	default:
		return fmt.Sprint(v)
	}
}

// defaultCheckValues sets the defaults of flags and choices, which forms show.
func defaultCheckValues(values url.Values, t check.Type) {
	values.Set("interval", "1m")
	for _, f := range t.Fields {
		if f.Kind == configfield.KindFlag || f.Choices != nil {
			values.Set(f.Name, f.Default)
		}
	}
}

// readField returns the JSON of what was typed into a field; nil: nothing.
func readField(f configfield.Field, typed string) (json.RawMessage, error) {
	text := typed
	if f.Kind != configfield.KindLongText && !f.Secret {
		text = strings.TrimSpace(typed)
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var value any = strings.ReplaceAll(text, "\r\n", "\n")
	switch f.Kind {
	case configfield.KindFlag:
		value = text == "true"
	case configfield.KindInteger:
		if n, err := strconv.Atoi(text); err == nil {
			value = n
		}
	case configfield.KindList:
		value = lines(text)
	case configfield.KindMap:
		entries := make(map[string]string)
		for _, line := range lines(text) {
			name, entry, _ := strings.Cut(line, ":")
			entries[strings.TrimSpace(name)] = strings.TrimSpace(entry)
		}
		value = entries
	}
	return json.Marshal(value)
}

// lines returns the lines of a text that are not empty.
func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// readCheck reads the fields of a check into n, and returns what cannot be read. kept are the secrets that the monitor has.
func readCheck(typed url.Values, t check.Type, n *allswell.NewMonitor, kept map[string]json.RawMessage) error {
	var bad allswell.ValidationError
	n.Type, n.ParentID = t.Name, typed.Get("parent_id")
	n.Interval = readSeconds(typed, "interval", &bad)
	n.Check.Timeout = readSeconds(typed, "timeout", &bad)
	if text := strings.ReplaceAll(typed.Get("slow_after"), " ", ""); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			bad.Add("slow_after", "The slow_after must be a duration, such as 800ms or 2s.")
		}
		n.Check.SlowAfter = d
	}
	n.Check.RecoveryThreshold, n.Check.ConfirmFrom = readNumber(typed, "recovery_threshold"), readNumber(typed, "confirm_from")
	fields := make(map[string]json.RawMessage)
	n.Check.Secrets = make(map[string]json.RawMessage)
	for _, f := range t.Fields {
		value, err := readField(f, typed.Get(f.Name))
		if err != nil {
			return err
		}
		switch {
		case value != nil && f.Secret:
			n.Check.Secrets[f.Name] = value
		case f.Secret && typed.Get(removal(f)) != "":
			n.Check.Secrets[f.Name] = json.RawMessage("null")
			continue
		case f.Secret:
			value = kept[f.Name]
		}
		if value != nil {
			fields[f.Name] = value
		}
	}
	var err error
	n.Check.Config, _, err = t.Read(fields)
	return joinInvalid(bad.Err(), err)
}

// readSeconds reads a duration in whole seconds; 0: nothing was typed.
func readSeconds(typed url.Values, name string, bad *allswell.ValidationError) time.Duration {
	text := strings.ReplaceAll(typed.Get(name), " ", "")
	if text == "" {
		return 0
	}
	var d timeinput.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		bad.Add(name, "The %s %s.", name, err)
		return 0
	}
	if d == 0 {
		return -time.Second // never valid
	}
	return time.Duration(d)
}

// readNumber reads a number; 0: nothing was typed.
func readNumber(typed url.Values, name string) int {
	text := strings.TrimSpace(typed.Get(name))
	if text == "" {
		return 0
	}
	if n, err := strconv.Atoi(text); err == nil && n != 0 {
		return n
	}
	return -1 // never valid
}

// testedCheck returns the check of a form with the secrets that it keeps, as it is tested.
func testedCheck(n allswell.NewMonitor, kept map[string]json.RawMessage) allswell.CheckSpec {
	spec := n.Check
	spec.Secrets = make(map[string]json.RawMessage)
	for name, value := range kept {
		spec.Secrets[name] = value
	}
	for name, value := range n.Check.Secrets {
		if spec.Secrets[name] = value; string(value) == "null" {
			delete(spec.Secrets, name)
		}
	}
	return spec
}

// errNoTests is returned for a test where there is nothing that tests.
var errNoTests = errors.New("no tester of checks is configured")

// testCheck checks once.
func (v *visit) testCheck(kind allswell.MonitorType, spec allswell.CheckSpec) (*checkResult, error) {
	if v.tests == nil {
		return nil, errNoTests
	}
	r, err := v.tests.Test(v.r.Context(), v.actor().WorkspaceID, kind, spec)
	if errors.As(err, new(*web.TooMany)) || errors.Is(err, allswell.ErrBusy) {
		var bad allswell.ValidationError
		bad.Add("type", "There were too many tests in the last minute. Please try again.")
		return nil, bad.Err()
	}
	if err != nil {
		return nil, err
	}
	return &checkResult{r}, nil
}

// checkResult is a result as it is shown.
type checkResult struct{ allswell.CheckResult }

// resultNames are the words for the statuses of results.
var resultNames = map[allswell.CheckStatus]string{
	allswell.CheckOK: "Works", allswell.CheckSlow: "Works, but is slow", allswell.CheckFailed: "Failed", allswell.CheckUnknown: "Unknown",
}

// Label says what the check found.
func (r checkResult) Label() string { return resultNames[r.Status] }

// Tone returns the name of the tone of the result.
func (r checkResult) Tone() string {
	switch {
	case r.Status == allswell.CheckOK && !r.Warning:
		return allswell.StatusOperational.Tone().Name
	case r.Status == allswell.CheckFailed:
		return allswell.StatusMajorOutage.Tone().Name
	case r.Status == allswell.CheckUnknown:
		return allswell.NeutralTone.Name
	default:
		return allswell.StatusDegraded.Tone().Name
	}
}

// Took returns how long the whole check took.
func (r checkResult) Took() string { return shortTime(r.Phases.Total) }

// Parts returns how long the parts of the check took.
func (r checkResult) Parts() (all [][2]string) {
	for _, p := range []struct {
		label string
		took  time.Duration
	}{{"DNS", r.Phases.DNS}, {"Connect", r.Phases.Connect}, {"TLS", r.Phases.TLS}, {"First byte", r.Phases.FirstByte}, {"Total", r.Phases.Total}} {
		if p.took > 0 {
			all = append(all, [2]string{p.label, shortTime(p.took)})
		}
	}
	return all
}

// shortTime returns how long a part of a check took: "0.6 ms", "12 ms", "1.20 s".
func shortTime(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(d.Seconds()*1000, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatFloat(d.Seconds()*1000, 'f', 0, 64) + " ms"
	default:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	}
}
