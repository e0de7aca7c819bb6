package field_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// lamp is a resource that reads a field by hand, with a default, a list that is settled, and fields of its type.
type lamp struct {
	ID, Type string
	On       bool
	Tags     []string
	Config   configfield.Config
	Created  time.Time
}

var wire = configfield.Field{Name: "wire"}

var lamps = field.New(field.Resource[lamp]{
	Noun:     "lamp",
	ReadHand: func(*jsonobject.Object, field.Request) field.Change[lamp] { return func(*lamp) error { return nil } },
	Fields: []*field.Field[lamp]{
		field.ID("id", "lmp_", func(l *lamp) *string { return &l.ID }),
		field.Text("type", func(l *lamp) *string { return &l.Type }).Max(10).Doc("Type").Form("Type", "", ""),
		field.Bool("on", func(l *lamp) *bool { return &l.On }).
			Default(func(l *lamp, _ time.Time) { l.On = true }).Doc("On").Form("On", "", ""),
		field.Texts("tags", func(l *lamp) *[]string { return &l.Tags }).
			Settle(func(l *lamp) { l.Tags = slices.Sorted(slices.Values(l.Tags)) }).Doc("Tags").Form("Tags", "", ""),
		field.Time("created_at", func(l *lamp) *time.Time { return &l.Created }).ReadOnly(),
		field.Config([]configfield.Shared{{Field: wire, Of: []configfield.Owner{{Type: "wired", Field: wire}}}},
			func(l *lamp) configfield.Config { return l.Config }, func(l *lamp, c configfield.Config) { l.Config = c },
			func(map[string]json.RawMessage, bool) field.Change[lamp] { return func(*lamp) error { return nil } }),
	},
})

// TestChangesOfStored checks that a change settles the list that it gives, and sets no default of what it does not
// give, although the resource reads fields by hand.
func TestChangesOfStored(t *testing.T) {
	o, err := jsonobject.Parse([]byte(`{"tags":["b","a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	l := lamp{ID: "lmp_1", Type: "wired"}
	err = lamps.Apply(&l, lamps.Read(o, field.Changing), now)
	if err != nil || l.On || !slices.Equal(l.Tags, []string{"a", "b"}) {
		t.Errorf("changed lamp: error %v, on %t, tags %q", err, l.On, l.Tags)
	}
}

// TestAuditOfMissingConfig checks that the audit log has a field of the type that has no value as null, so that an
// entry about its removal has it.
func TestAuditOfMissingConfig(t *testing.T) {
	for kind, want := range map[string]bool{"wired": true, "other": false} {
		l := lamp{Type: kind, Config: configfield.Config{Type: kind, Shown: json.RawMessage(`{}`)}}
		if value, has := lamps.Audited(l).AuditObject().Fields["wire"]; has != want || value != nil {
			t.Errorf("audited wire of a lamp of the type %s: %v, %t", kind, value, has)
		}
	}
}
