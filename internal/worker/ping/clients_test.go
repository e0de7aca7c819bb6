package ping

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/nodeclient"
)

// healthchecksClient signals with the npm package of Healthchecks, whose base address is all that changes.
const healthchecksClient = nodeclient.ReadStdin + `
const { HealthChecksPingClient } = require('healthchecks-io-client');
async function main(input) {
	const options = { uuid: input.uuid, baseUrl: input.base + '/ping', returnResponse: true };
	const client = new HealthChecksPingClient(options);
	const answers = [await client.start(), await client.success(), await client.success('12 files'), await client.fail('disk full')];
	await new HealthChecksPingClient({ ...options, uuid: input.unknown }).success().catch(e => answers.push(String(e.statusCode)));
	console.log(JSON.stringify(answers));
}
`

// cronitorClient sends telemetry with Cronitor's own library. Only the host in the URL that it makes is replaced.
const cronitorClient = nodeclient.ReadStdin + `
async function main(input) {
	const cronitor = require('cronitor')(input.key);
	const made = cronitor._api.pingUrl;
	cronitor._api.pingUrl = key => made(key).replace('https://cronitor.link', input.base);
	const monitor = new cronitor.Monitor('Nightly_Job');
	const answers = [
		await monitor.ping({ state: 'run', series: 'run 1', host: 'a b' }),
		await monitor.ping({ state: 'complete', series: 'run 1', message: 'took 3 s & more', metrics: { count: 3 } }),
		await monitor.ping({ state: 'fail', message: 'disk full' }),
		await monitor.ok(),
		await monitor.ping(),
	];
	const error = console.error;
	console.error = () => {};
	answers.push(await new cronitor.Monitor('x/../y').ping());
	console.error = error;
	console.log(JSON.stringify(answers));
}
`

// TestHealthchecksClientInJavaScript pings with the client of Healthchecks on npm.
func TestHealthchecksClientInJavaScript(t *testing.T) {
	w := newTestServer(t, storetest.SQLite(t), Config{})
	w.start()
	const uuid, unknown = "f618072a-7bde-4eee-af63-71a77c5723bc", "00000000-7bde-4eee-af63-71a77c5723bc"
	m := must(w.store.CreateMonitor(t.Context(), w.ws, monitor.MonitorOf(monitor.MonitorConfig{
		Name: "moved", Token: uuid, Interval: monitor.ProvisionedInterval, PageSlug: "acme",
	})))(t)
	var answers []string
	nodeclient.Run(t, "healthchecks-io-client", healthchecksClient,
		map[string]string{"base": w.http.URL, "uuid": uuid, "unknown": unknown}, &answers)
	if got := strings.Join(answers, " "); got != "OK OK OK OK 404" {
		t.Errorf("the answers are %s", got)
	}
	all := w.signals(m.ID)
	if len(all) != 4 || string(all[0].Output) != "disk full" || all[0].Kind != monitor.SignalFail ||
		string(all[1].Output) != "12 files" || all[2].Kind != monitor.SignalPing ||
		all[3].Kind != monitor.SignalStart ||
		!strings.HasPrefix(all[0].UserAgent, "HealthChecks-IO-Client-JS/") {
		t.Errorf("recorded %+v", all)
	}
	if w.now(m.ID).State != monitor.MonitorDown {
		t.Error("the failure has no effect")
	}
}

// TestCronitorClientInJavaScript sends telemetry with Cronitor's library on npm, to a monitor that does not exist.
func TestCronitorClientInJavaScript(t *testing.T) {
	w := newTestServer(t, storetest.SQLite(t), Config{})
	w.start()
	var answers []bool
	nodeclient.Run(t, "cronitor", cronitorClient, map[string]string{"base": w.http.URL, "key": w.readWriteKey()},
		&answers)
	if len(answers) != 6 || answers[5] {
		t.Errorf("the answers are %v", answers)
	}
	for _, ok := range answers[:5] {
		if !ok {
			t.Errorf("the answers are %v", answers)
		}
	}
	all, _, err := w.store.Signals(t.Context(), w.ws, "nightly-job", store.SignalFilter{Outputs: 100}, 10)
	if err != nil || len(all) != 5 || all[0].Kind != monitor.SignalPing {
		t.Fatalf("recorded %+v, %v", all, err)
	}
	all = all[1:]
	if all[3].Kind != monitor.SignalStart || all[2].Duration == nil || all[2].RunID != all[3].RunID ||
		string(all[2].Output) != "took 3 s & more" ||
		all[1].Kind != monitor.SignalFail || string(all[1].Output) != "disk full" ||
		all[0].Kind != monitor.SignalSuccess {
		t.Errorf("recorded %+v", all)
	}
	if m := w.now("nightly-job"); m.State != monitor.MonitorUp || m.Name != "Nightly_Job" {
		t.Errorf("the monitor is %+v", m)
	}
}
