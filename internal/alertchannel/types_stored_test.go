package alertchannel

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/test/stored"
)

var updateTypes = flag.Bool("update-types", false, "write testdata/types.txt")

// TestTypesAsStored compares the fields of all types with the fields in the file. With the flag -update-types it writes
// the file; read its difference before you commit it.
func TestTypesAsStored(t *testing.T) {
	const file = "testdata/types.txt"
	var text strings.Builder
	text.WriteString("# Types of channels and their fields. go test -run TestTypesAsStored ./internal/alertchannel " +
		"-update-types writes this file.\n")
	for _, typ := range Types {
		fmt.Fprintf(&text, "\n%s: %s", typ.Name, typ.Label)
		if typ.Follows {
			text.WriteString(", follows")
		}
		text.WriteString("\n")
		for _, f := range typ.Fields {
			fmt.Fprintf(&text, "  %s: %v, limit %d", f.Name, f.Kind, f.Limit())
			for _, part := range []struct {
				name string
				set  bool
			}{{"secret", f.Secret}, {"required", f.Required}, {"advanced", f.Advanced}, {"syntax", f.Syntax}} {
				if part.set {
					text.WriteString(", " + part.name)
				}
			}
			if f.Default != "" || f.Choices != nil {
				fmt.Fprintf(&text, ", one of %q, default %q", f.Choices, f.Default)
			}
			text.WriteString("\n")
		}
	}
	stored.Compare(t, file, "\n", text.String(), *updateTypes)
}

// TestTestMessages holds what the message says that tests a channel, and how long the names in it may be.
func TestTestMessages(t *testing.T) {
	long := strings.Repeat("é", maxTester)
	for _, c := range []struct{ by, workspace, line, reason string }{
		{"", "Acme", "the weekly test of Acme", "the weekly test of this channel; nothing has happened"},
		{"Grace", "Acme", "Grace of Acme", "Grace sent it to see whether alerts arrive; nothing has happened"},
		{long, long, long + " of " + long, long + " sent it to see whether alerts arrive; nothing has happened"},
		{long + "é", long + "é", long[2:] + "… of " + long[2:] + "…",
			long + "é sent it to see whether alerts arrive; nothing has happened"},
		{"Grace\n", "Acme\r", "Grace of Acme", "Grace\n sent it to see whether alerts arrive; nothing has happened"},
	} {
		now := moment(0)
		m := TestMessage(alert.Channel{WorkspaceName: c.workspace}, c.by, now)
		want := "Test message from Allswell, sent by " + c.line
		if m.TestLine != want || m.At != now || m.Thread != nil || len(m.Items) != 1 {
			t.Fatalf("test message: %q, want %q: %+v", m.TestLine, want, m)
		}
		i := m.Items[0]
		if len(i.Kinds) != 1 || i.Kinds[0] != alert.NoticeOpened || i.Event != alert.ChannelTest ||
			i.Severity != kernel.ImpactNone || i.Reason != c.reason {
			t.Errorf("item of the test message: %+v", i)
		}
		if !i.OpenedAt.Equal(now) || !i.ResolvedAt.Equal(now) || !strings.HasPrefix(i.ID, alert.PrefixAlert) ||
			!strings.HasPrefix(m.ID, alert.PrefixMessage) {
			t.Errorf("%s in %s at %s until %s", i.ID, m.ID, i.OpenedAt, i.ResolvedAt.Format(time.RFC3339))
		}
	}
}
