package failover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

const deploy = "../../deploy/high-availability"

// testAddress is where the clients and the receiver of webhooks are.
const testAddress = "10.0.0.1"

// cluster is the topology of deploy/high-availability.
type cluster struct {
	t     *testing.T
	exe   string
	edge  *machine
	nodes []*machine
	token string
	http  http.Client // one connection a request
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// envLines returns the lines of a file that are not comments.
func envLines(content string) []string {
	var env []string
	for line := range strings.Lines(content) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			env = append(env, line)
		}
	}
	return env
}

// route replaces old by new in content if the test takes that route.
func route(name, content, old, new string) string {
	if os.Getenv(routeVariable) != name {
		return content
	}
	return strings.ReplaceAll(content, old, new)
}

// forNode replaces node1 by the node's name, except where all nodes are listed.
func (c *cluster) forNode(m *machine, name string) []string {
	env := envLines(read(c.t, name))
	for i, line := range env {
		if !strings.HasPrefix(line, "ETCD_INITIAL_CLUSTER=") {
			env[i] = strings.ReplaceAll(line, "node1", m.name)
		}
	}
	return env
}

// newCluster creates the machines and starts all services.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, exe: binary.Build(t)}
	c.http = http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	newBridge(t, testAddress)
	hosts := read(t, "hosts")
	for line := range strings.Lines(hosts) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		address, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		m := newMachine(t, name, address, "127.0.0.1 localhost\n"+hosts)
		m.sysctl(envLines(read(t, "sysctl.conf")))
		if name == "edge" {
			c.edge = m
		} else {
			c.nodes = append(c.nodes, m)
		}
	}
	c.edge.write("/etc/haproxy/haproxy.cfg", read(t, "haproxy-edge.cfg"))
	for _, m := range c.nodes {
		m.write("/etc/haproxy/haproxy.cfg",
			route("sessions", read(t, "haproxy-node.cfg"), " on-marked-down shutdown-sessions", ""))
		m.write("/etc/patroni/config.yml", read(t, "patroni.yml"))
		m.write("/etc/patroni/create-database.sh", read(t, "create-database.sh"))
		if err := os.Chmod(m.disk("/etc/patroni/create-database.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		run(t, "chown", "etcd", m.disk("/var/lib/etcd"))
		run(t, "chown", "postgres", m.disk("/var/lib/postgresql"))
	}
	for _, m := range c.nodes {
		c.startEtcd(m)
	}
	for _, m := range c.nodes {
		c.startPatroni(m)
		c.startHAProxy(m)
	}
	c.startHAProxy(c.edge)
	await(t, time.Minute, c.databaseHealthy)
	for _, m := range c.nodes {
		c.startAllswell(m)
	}
	for _, line := range envLines(read(t, "allswell.env")) {
		if token, found := strings.CutPrefix(line, "ALLSWELL_BOOTSTRAP_TOKEN="); found {
			c.token = token
		}
	}
	await(t, time.Minute, c.healthy)
	return c
}

func (c *cluster) startEtcd(m *machine) {
	m.start("etcd", "etcd", c.forNode(m, "etcd.env"), "etcd")
}

func (c *cluster) startPatroni(m *machine) {
	m.start("patroni", "postgres", append(c.forNode(m, "patroni.env"), "HOME=/var/lib/postgresql"),
		"patroni", "/etc/patroni/config.yml")
}

func (c *cluster) startHAProxy(m *machine) {
	m.start("haproxy", "root", nil, "haproxy", "-W", "-f", "/etc/haproxy/haproxy.cfg", "-p", "/run/haproxy.pid")
}

// startAllswell starts a replica as the service does, but as the user nobody,
// without limits on the clients of the test, and with webhooks to it allowed.
func (c *cluster) startAllswell(m *machine) {
	address := route("hosts", read(c.t, "allswell.env"), "@127.0.0.1:5000/", "@node1,node2,node3/")
	env := append(envLines(address), "ALLSWELL_PING_EXEMPT="+testAddress,
		"ALLSWELL_API_RATE_LIMIT=0", "ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on", "ALLSWELL_LOG_LEVEL=warn")
	m.supervise("allswell", "nobody", env, c.exe, "serve")
}

// startNode starts all services of a node that was killed.
func (c *cluster) startNode(m *machine) {
	c.startEtcd(m)
	c.startPatroni(m)
	c.startHAProxy(m)
	c.startAllswell(m)
}

// edgeURL is the public address of the service.
func (c *cluster) edgeURL() string { return "http://" + c.edge.address }

// member is a node as Patroni reports it.
type member struct{ Name, Role, State string }

// members asks Patroni on one of the nodes.
func (c *cluster) members() (members []member, err error) {
	for _, m := range c.nodes {
		var answer struct{ Members []member }
		if err = c.getJSON("http://"+m.address+":8008/cluster", &answer); err == nil {
			return answer.Members, nil
		}
	}
	return nil, err
}

func (c *cluster) getJSON(url string, into any) error {
	res, err := c.http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s %.200s", url, res.Status, body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

// leader and standby return the nodes of the primary and of the synchronous standby. They are called while the cluster
// is healthy.
func (c *cluster) leader() *machine  { return c.withRole("leader") }
func (c *cluster) standby() *machine { return c.withRole("sync_standby") }

func (c *cluster) withRole(role string) *machine {
	c.t.Helper()
	members, err := c.members()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, member := range members {
		if member.Role == role {
			return c.node(member.Name)
		}
	}
	c.t.Fatalf("no %s in %v", role, members)
	return nil
}

func (c *cluster) node(name string) *machine {
	for _, m := range c.nodes {
		if m.name == name {
			return m
		}
	}
	c.t.Fatalf("no node %q", name)
	return nil
}

// databaseHealthy returns nil when one leader, one synchronous standby and one
// other standby run.
func (c *cluster) databaseHealthy() error {
	members, err := c.members()
	if err != nil {
		return err
	}
	roles := map[string]int{}
	for _, m := range members {
		if m.State == "running" || m.State == "streaming" {
			roles[m.Role]++
		}
	}
	if len(members) != len(c.nodes) || roles["leader"] != 1 || roles["sync_standby"] != 1 || roles["replica"] != 1 {
		return fmt.Errorf("not healthy: %v", members)
	}
	return nil
}

// healthy returns nil when all services run on all nodes.
func (c *cluster) healthy() error {
	timelines := map[int]bool{}
	for _, m := range c.nodes {
		if err := c.getJSON("http://"+m.address+":2379/health", nil); err != nil {
			return err
		}
		// The state of a member may be some seconds old; this is not.
		var status struct {
			State    string
			Timeline int
		}
		if err := c.getJSON("http://"+m.address+":8008/patroni", &status); err != nil {
			return err
		}
		if status.State != "running" {
			return fmt.Errorf("PostgreSQL of %s is %s", m.name, status.State)
		}
		timelines[status.Timeline] = true
	}
	if len(timelines) != 1 {
		return fmt.Errorf("the nodes are on different timelines")
	}
	if err := c.databaseHealthy(); err != nil {
		return err
	}
	for _, m := range c.nodes {
		if err := c.getJSON("http://"+m.address+":8080/readyz", nil); err != nil {
			return err
		}
	}
	return c.getJSON(c.edgeURL()+"/readyz", nil)
}

// switchover asks Patroni to make the synchronous standby the leader.
func (c *cluster) switchover() {
	c.t.Helper()
	leader, standby := c.leader(), c.standby()
	body, err := json.Marshal(map[string]string{"leader": leader.name, "candidate": standby.name})
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), "POST", "http://"+leader.address+":8008/switchover",
		bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	env := envLines(read(c.t, "patroni.env"))
	value := func(name string) string {
		for _, line := range env {
			if v, found := strings.CutPrefix(line, name+"="); found {
				return v
			}
		}
		return ""
	}
	req.SetBasicAuth(value("PATRONI_RESTAPI_USERNAME"), value("PATRONI_RESTAPI_PASSWORD"))
	res, err := (&http.Client{Timeout: 60 * time.Second}).Do(req)
	if err != nil {
		c.t.Fatalf("switchover: %v", err)
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(res.Body) // only for the message
	if res.StatusCode != http.StatusOK {
		c.t.Errorf("switchover: %s %s", res.Status, answer)
	}
}
