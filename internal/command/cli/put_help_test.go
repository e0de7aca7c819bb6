package cli

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
)

// putCommands returns the commands that create or replace an object, by their nouns.
func putCommands(t *testing.T) map[string]*kong.Node {
	t.Helper()
	parser, err := testProgram().Parser(&console.Console{})
	if err != nil {
		t.Fatal(err)
	}
	puts := make(map[string]*kong.Node)
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		if n.Name == "put" {
			puts[strings.TrimPrefix(n.Parent.FullPath(), "allswell ")] = n
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(parser.Model.Node)
	return puts
}

func flagOfCommand(n *kong.Node, name string) *kong.Flag {
	if i := slices.IndexFunc(n.Flags, func(f *kong.Flag) bool { return f.Name == name }); i >= 0 {
		return n.Flags[i]
	}
	return nil
}

// TestShowPrintsWhatPutTakes checks that every object that put replaces under a condition has a command that prints its
// entity tag alone.
func TestShowPrintsWhatPutTakes(t *testing.T) {
	puts := putCommands(t)
	if len(puts) < 8 {
		t.Fatalf("only %d commands put", len(puts))
	}
	ids := map[string]string{
		"page": "acme", "component": "comp_1 --page=acme", "group": "grp_1", "monitor": "mon_1", "template": "tpl_1",
		"channel": "chn_1", "alert rule": "rul_1", "oncall": "onc_1",
	}
	for noun, put := range puts {
		if flagOfCommand(put, "if-match") == nil {
			t.Errorf("%s put has no --if-match", noun)
		}
		status, stdout, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"7"`)
			io.WriteString(w, `{"data": {"id": "x_1", "name": "N", "page": "acme"}}`)
		}, strings.Fields(noun+" show "+ids[noun]+" --etag")...)
		if status != console.ExitDone || stdout != "\"7\"\n" {
			t.Errorf("%s show --etag: status %d, %q, %q", noun, status, stdout, stderr)
		}
	}
}

// TestPutSaysWhatIsKept checks that the help of put says of each flag whose value is kept if it is not given that it
// is.
func TestPutSaysWhatIsKept(t *testing.T) {
	puts, kept := putCommands(t), 0
	for noun, fields := range map[string][]field.Info{
		"page": resource.Page.Infos(), "component": resource.Component.Infos(), "group": resource.Group.Infos(),
		"oncall":   resource.OnCall.Infos(),
		"template": resource.IncidentTemplate.Infos(), "channel": resource.Channel.Infos(),
		"alert rule": resource.AlertRule.Infos(),
	} {
		for _, i := range fields {
			flag := flagOfCommand(puts[noun], i.FlagName())
			if flag == nil {
				continue
			}
			if i.Kept {
				kept++
			}
			if strings.Contains(flag.Help, "By default kept") != i.Kept {
				t.Errorf("%s put --%s: kept %t, help %q", noun, flag.Name, i.Kept, flag.Help)
			}
		}
	}
	if kept < 11 {
		t.Errorf("only %d flags of values that are kept", kept)
	}
	for noun, want := range map[string]string{
		"component": "status, order, group, and whether it is hidden are kept",
		"oncall":    "--starts-on and overrides are kept", "page": "unless their help says that they are kept",
	} {
		if !strings.Contains(puts[noun].Help, want) {
			t.Errorf("%s put: %s", noun, puts[noun].Help)
		}
	}
	got, want := flagOfCommand(puts["component"], "group").Help,
		"Id, name or slug of the group on the same page. By default kept; '' removes it; of a new one, no group."
	if got != want {
		t.Errorf("--group: %s", got)
	}
}

// TestPutRemovesTheGroup checks that an empty group is sent as an empty text, which removes the component from its
// group.
func TestPutRemovesTheGroup(t *testing.T) {
	var sent []string
	status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, strings.TrimSpace(r.Method+" "+canonical(body)))
		fmt.Fprint(w, `{"data": {"name": "API"}}`)
	}, expand("component put|api|--page=acme|--name=API|--group=")...)
	want := []string{"GET", `PUT {"group":"","name":"API"}`}
	if status != console.ExitDone || !slices.Equal(sent, want) {
		t.Errorf("status %d, %s, sent %q", status, stderr, sent)
	}
}
