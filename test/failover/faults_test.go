package failover

import (
	"math/rand/v2"
	"syscall"
	"time"
)

// ttl is the same as in patroni.yml.
const ttl = 20 * time.Second

// A fault is a kind of fault. inject injects it and returns a function that removes it.
type fault struct {
	kind string
	// gap is the promised maximum time without an acknowledged ping.
	gap time.Duration
	// hold is the minimum and maximum time until it is removed.
	hold [2]time.Duration
	// senders is the number of replicas that are killed, frozen or cut off. Each may have sent one webhook without
	// recording it.
	senders int
	inject  func(c *cluster, rnd *rand.Rand) (mend func())
}

func seconds(least, most int) [2]time.Duration {
	return [2]time.Duration{time.Duration(least) * time.Second, time.Duration(most) * time.Second}
}

func nothing() {}

func anyNode(c *cluster, rnd *rand.Rand) *machine { return c.nodes[rnd.IntN(len(c.nodes))] }

// faults are all kinds, those first that a short round should not miss.
var faults = []fault{
	{"postgres of the leader killed", 12 * time.Second, seconds(0, 0), 0, func(c *cluster, _ *rand.Rand) func() {
		c.leader().signalAll("postgres", syscall.SIGKILL)
		return nothing
	}},
	{"node of the leader killed", ttl + 15*time.Second, seconds(25, 32), 1, func(c *cluster, _ *rand.Rand) func() {
		m := c.leader()
		m.kill()
		return func() { m.uncut(); c.startNode(m) }
	}},
	{"switchover", 10 * time.Second, seconds(0, 0), 0, func(c *cluster, _ *rand.Rand) func() {
		c.switchover()
		return nothing
	}},
	{"replica killed", 3 * time.Second, seconds(1, 10), 1, func(c *cluster, rnd *rand.Rand) func() {
		m := anyNode(c, rnd)
		m.end("allswell", syscall.SIGKILL)
		return func() { c.startAllswell(m) }
	}},
	{"node of the leader frozen", ttl + 15*time.Second, seconds(25, 32), 1, func(c *cluster, _ *rand.Rand) func() {
		m := c.leader()
		m.signalAll("", syscall.SIGSTOP)
		return func() { m.signalAll("", syscall.SIGCONT) }
	}},
	{"node of the leader cut off", ttl + 15*time.Second, seconds(25, 32), 1, func(c *cluster, _ *rand.Rand) func() {
		m := c.leader()
		m.cut()
		return m.uncut
	}},
	{"replica frozen", 3 * time.Second, seconds(5, 40), 1, func(c *cluster, rnd *rand.Rand) func() {
		m := anyNode(c, rnd)
		m.signal("allswell", syscall.SIGSTOP)
		return func() { m.signal("allswell", syscall.SIGCONT) }
	}},
	{"Patroni of the leader killed", ttl + 15*time.Second, seconds(25, 32), 0, func(c *cluster, _ *rand.Rand) func() {
		m := c.leader()
		m.end("patroni", syscall.SIGKILL)
		return func() { c.startPatroni(m) }
	}},
	{"postgres of the leader frozen", ttl + 15*time.Second, seconds(25, 32), 0, func(c *cluster, _ *rand.Rand) func() {
		m := c.leader()
		m.signalAll("postgres", syscall.SIGSTOP)
		return func() { m.signalAll("postgres", syscall.SIGCONT) }
	}},
	{"Patroni and postgres of the leader frozen", ttl + 15*time.Second, seconds(25, 32), 0,
		func(c *cluster, _ *rand.Rand) func() {
			m := c.leader()
			m.signal("patroni", syscall.SIGSTOP)
			m.signalAll("postgres", syscall.SIGSTOP)
			return func() { m.signalAll("postgres", syscall.SIGCONT); m.signal("patroni", syscall.SIGCONT) }
		}},
	{"standby killed", 12 * time.Second, seconds(0, 0), 0, func(c *cluster, _ *rand.Rand) func() {
		c.standby().signalAll("postgres", syscall.SIGKILL)
		return nothing
	}},
	{"standby frozen", 15 * time.Second, seconds(10, 30), 0, func(c *cluster, _ *rand.Rand) func() {
		m := c.standby()
		m.signalAll("postgres", syscall.SIGSTOP)
		return func() { m.signalAll("postgres", syscall.SIGCONT) }
	}},
	{"node of the standby killed", 15 * time.Second, seconds(15, 30), 1, func(c *cluster, _ *rand.Rand) func() {
		m := c.standby()
		m.kill()
		return func() { m.uncut(); c.startNode(m) }
	}},
	{"etcd stopped on all nodes", 10 * time.Second, seconds(25, 32), 0, func(c *cluster, _ *rand.Rand) func() {
		for _, m := range c.nodes {
			m.end("etcd", syscall.SIGKILL)
		}
		return func() {
			for _, m := range c.nodes {
				c.startEtcd(m)
			}
		}
	}},
	{"etcd killed on one node", 10 * time.Second, seconds(5, 15), 0, func(c *cluster, rnd *rand.Rand) func() {
		m := anyNode(c, rnd)
		m.end("etcd", syscall.SIGKILL)
		return func() { c.startEtcd(m) }
	}},
	{"replicas restarted one by one", 3 * time.Second, seconds(0, 0), 0, func(c *cluster, _ *rand.Rand) func() {
		for _, m := range c.nodes {
			m.end("allswell", syscall.SIGTERM)
			c.startAllswell(m)
			await(c.t, time.Minute, func() error { return c.getJSON("http://"+m.address+":8080/readyz", nil) })
		}
		return nothing
	}},
	{"HAProxy of a node killed", 3 * time.Second, seconds(1, 5), 0, func(c *cluster, rnd *rand.Rand) func() {
		m := anyNode(c, rnd)
		m.signalAll("haproxy", syscall.SIGKILL)
		return func() { c.startHAProxy(m) }
	}},
	{"HAProxy of the edge restarted", 3 * time.Second, seconds(0, 0), 0, func(c *cluster, _ *rand.Rand) func() {
		c.edge.signalAll("haproxy", syscall.SIGKILL)
		return func() { c.startHAProxy(c.edge) }
	}},
}
