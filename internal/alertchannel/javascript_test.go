package alertchannel

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/test/nodeclient"
)

// sentParts sends every message by some types, and returns what part takes out of the bodies; nil is nothing.
func sentParts(
	t *testing.T, part func(body map[string]json.RawMessage) json.RawMessage, types ...string,
) (parts []json.RawMessage) {
	t.Helper()
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for _, name := range types {
		svc, peer := services[name], newSink(t)
		channel := newChannel(t, name, svc.config, peer.URL)
		all := messages(svc.ref)
		for _, title := range slices.Sorted(maps.Keys(all)) {
			peer.reset(svc.success)
			if r := sender.Send(t.Context(), channel, all[title]); r.Result != audience.SendAccepted {
				t.Fatalf("%s: %s: %+v", name, title, r)
			}
			for _, e := range peer.taken() {
				var body map[string]json.RawMessage
				if err := json.Unmarshal(e.body, &body); err != nil {
					t.Fatal(err)
				}
				if found := part(body); found != nil {
					parts = append(parts, found)
				}
			}
		}
	}
	if len(parts) < 10 {
		t.Fatalf("%d parts", len(parts))
	}
	return parts
}

// TestCardsInJavaScript reads the cards for Teams with the library that clients show them with.
func TestCardsInJavaScript(t *testing.T) {
	cards := sentParts(t, func(body map[string]json.RawMessage) json.RawMessage {
		var attachments []struct{ Content json.RawMessage }
		if err := json.Unmarshal(body["attachments"], &attachments); err != nil || len(attachments) != 1 {
			t.Fatalf("attachments %s: %v", body["attachments"], err)
		}
		return attachments[0].Content
	}, "teams")
	const bad = `{"type":"AdaptiveCard","version":"1.4","body":[{"type":"RichTextBlok","inlines":[]},` +
		`{"type":"Input.Text"}]}`
	var problems [][]string
	nodeclient.Run(t, "adaptivecards", `
		const { AdaptiveCard, SerializationContext, Versions } = require('adaptivecards/dist/adaptivecards.js')
		const cards = JSON.parse(require('fs').readFileSync(0))
		console.log(JSON.stringify(cards.map(json => {
			const card = new AdaptiveCard(), context = new SerializationContext(Versions.v1_4)
			card.parse(json, context)
			const problems = card.validateProperties().validationEvents.map(e => e.message)
			for (let i = 0; i < context.eventCount; i++) problems.push(context.getEventAt(i).message)
			if (card.getItemCount() !== json.body.length) problems.push(card.getItemCount() + ' items')
			if (card.getActionCount() !== (json.actions || []).length) problems.push(card.getActionCount() + ' actions')
			return problems
		})))`, append(cards, json.RawMessage(bad)), &problems)
	if last := len(problems) - 1; last != len(cards) || len(problems[last]) < 2 {
		t.Fatalf("%d answers for %d cards; to a bad one %q", len(problems), len(cards), problems[last])
	}
	for i, card := range cards {
		if len(problems[i]) > 0 {
			t.Errorf("%q in %.1000s", problems[i], card)
		}
	}
}

// TestBlocksInJavaScript compares the blocks for Slack with the types that Slack publishes.
func TestBlocksInJavaScript(t *testing.T) {
	blocks := sentParts(t, func(body map[string]json.RawMessage) json.RawMessage {
		return body["blocks"]
	}, "slack", "slack_bot")
	for _, bad := range []string{
		"", `[{"type":"header","text":{"type":"mrkdwn","text":"a"}}]`,
		`[{"type":"actions","elements":[{"type":"button"}]}]`,
	} {
		all := slices.Clone(blocks)
		if bad != "" {
			all = append(all, json.RawMessage(bad))
		}
		var problems []string
		nodeclient.Run(t, "typescript", `
			const ts = require('typescript'), path = require('path')
			const lists = JSON.parse(require('fs').readFileSync(0))
			const name = path.join(process.cwd(), 'blocks.ts')
			const source = 'import type { KnownBlock } from "@slack/types"\n' + lists.map((l, i) => 'export const blocks' + i + ': KnownBlock[] = ' + JSON.stringify(l)).join('\n')
			const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }
			const host = ts.createCompilerHost(options), read = host.getSourceFile
			host.getSourceFile = (file, ...rest) => file === name ? ts.createSourceFile(file, source, ts.ScriptTarget.Latest) : read(file, ...rest)
			const found = ts.getPreEmitDiagnostics(ts.createProgram([name], options, host))
			console.log(JSON.stringify(found.map(d => ts.flattenDiagnosticMessageText(d.messageText, ' '))))`, all,
			&problems)
		if (len(problems) > 0) != (bad != "") {
			t.Errorf("with %q: %q", bad, problems)
		}
	}
}
