package check

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/addressguard"
	"github.com/allswell/allswell/internal/shared/fair"
)

// maxWire is the maximum number of bytes that a probe reads from the network. A check of HTTP may also read its
// configured body size.
const maxWire = 1 << 20

// Network is how probes reach their targets: it resolves names, and refuses addresses that checks must not reach. The
// zero value reaches all but the addresses of addressguard.WhyNever.
type Network struct {
	Rules
	Resolver *net.Resolver // nil: the system's
	Hello    string        // the name of this machine in EHLO; "": its address

	trusted    bool   // all addresses may be reached
	nameServer string // this machine's; "": of resolvConf
	tokens     tokenCache
	capacity   capacity
	shared     *Network // whose capacity is used; nil: its own
}

// Rules say which addresses checks may reach, and what checks reveal about others. No rule permits the addresses that
// addressguard.WhyNever refuses.
type Rules struct {
	// Refuse returns why an address must not be reached, or syscall.ECONNREFUSED if it must look like a closed port;
	// nil: it may be reached. A nil function refuses nothing.
	Refuse func(network string, address netip.AddrPort) error

	// Discreet hides which internal names exist from the people who configure checks: a name with a refused address
	// looks like a name that does not exist.
	Discreet bool
}

// With returns the same network with other rules. Both share the capacity for bodies.
func (n *Network) With(rules Rules) *Network {
	return &Network{Rules: rules, Resolver: n.Resolver, Hello: n.Hello, nameServer: n.nameServer, shared: n}
}

// room returns the capacity for bodies: the shared one, or the network's own.
func (n *Network) room() *capacity {
	if n.shared != nil {
		return &n.shared.capacity
	}
	return &n.capacity
}

// Run runs a probe once, with a timeout, and measures it. The keys say for whom it uses the capacity of this machine;
// the hosts of each key share what the key may use.
func Run(ctx context.Context, n *Network, p Probe, timeout time.Duration, keys ...fair.Key) Outcome {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := &run{network: n, timeout: timeout, limit: maxWire, keys: atHost(p.Target().Host, keys), started: time.Now()}
	o := p.run(ctx, r)
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Phases = r.phases
	if o.Phases.Total == 0 {
		o.Phases.Total = time.Since(r.started) - r.before
	}
	o.Answered = o.Answered || r.answered
	if o.CertificateExpiresAt.IsZero() {
		o.CertificateExpiresAt = r.expires
	}
	if e, ok := p.(interface{ judgeExpiry(*Outcome, time.Time) }); ok && o.Failure == "" {
		e.judgeExpiry(&o, time.Now())
	}
	o.BodyCut = o.BodyCut || len(o.Body) > monitor.MaxFailedBody
	o.Body = monitor.FailedBody(o.Body)
	return o
}

// atHost returns keys that leave places of each key to its other hosts.
func atHost(host string, keys []fair.Key) (all []fair.Key) {
	for _, k := range keys {
		all = append(all, k, k.At(host).Nested())
	}
	return all
}

// Reaches reports whether a target accepts a connection before ctx ends.
func (n *Network) Reaches(ctx context.Context, t Target) bool {
	r := &run{network: n, limit: maxWire, timeout: time.Minute, started: time.Now()}
	conn, err := r.dial(ctx, "tcp", joinHostPort(t.Host, t.Port))
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = r.endGreeting(conn, nil) // what it says does not matter
	return true
}

// stage is how far a run has come. It says what a timeout interrupted.
type stage int

const (
	stageStart stage = iota
	stageResolving
	stageConnecting
	stageTLS
	stageWaiting // for the first byte of the response
	stageReading
)

// run is one run of a probe: its connections, its phases, and how far it has come. It is safe for concurrent use,
// because connections are tried at the same time.
type run struct {
	network *Network
	timeout time.Duration
	keys    []fair.Key
	started time.Time

	mu       sync.Mutex
	phases   monitor.CheckPhases
	stage    stage
	name     string // that was resolved last
	family   string // the network of the last connection, such as "tcp4"
	address  string // that was connected to last
	refused  string // why the last refused address must not be reached
	received int64  // bytes
	limit    int64  // of received
	answered bool   // the target sent something
	proxy    string // the scheme of the proxy; "": none
	past     bool   // what is received comes from the target, through the proxy
	began    time.Time
	before   time.Duration // in which the check was prepared, or waited for this machine
	expires  time.Time     // see Outcome.CertificateExpiresAt
}

// isProxy reports whether what is received comes from a proxy. The caller holds r.mu.
func (r *run) isProxy() bool { return r.proxy != "" && !r.past }

// enter notes that a stage begins. It returns the time of the previous one.
func (r *run) enter(s stage) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.enterLocked(s)
}

func (r *run) enterLocked(s stage) time.Duration {
	now := time.Now()
	last := now.Sub(r.began)
	r.stage, r.began = s, now
	return last
}

// dial connects to host:port over a network such as "tcp", "tcp4" or "udp". The connection ends with ctx.
func (r *run) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := r.dialOnly(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // no call on a new connection waits for longer
	}
	conn.stop = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return conn, nil
}

// dialOnly is dial for an http.Transport, whose ctx ends with the dial.
func (r *run) dialOnly(ctx context.Context, network, address string) (*countedConn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.name, r.family, r.address, r.past = host, network, address, false
	r.mu.Unlock()
	d := net.Dialer{Timeout: r.timeout, ControlContext: r.control, Resolver: r.network.Resolver, KeepAlive: -1}
	conn, err := d.DialContext(httptrace.WithClientTrace(ctx, r.dialTrace()), network, address)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.address = conn.RemoteAddr().String()
	r.enterLocked(stageWaiting)
	r.mu.Unlock()
	return &countedConn{Conn: conn, run: r}, nil
}

func (r *run) dialTrace() *httptrace.ClientTrace {
	var first time.Time // the first address was tried
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { r.enter(stageResolving) },
		DNSDone: func(httptrace.DNSDoneInfo) {
			r.mu.Lock()
			r.phases.DNS += time.Since(r.began)
			r.mu.Unlock()
		},
		ConnectStart: func(_, address string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.address = address
			r.enterLocked(stageConnecting)
			if first.IsZero() {
				first = r.began
			}
		},
		ConnectDone: func(_, address string, err error) {
			if err == nil {
				r.mu.Lock()
				r.phases.Connect += time.Since(first)
				r.mu.Unlock()
			}
		},
	}
}

// control is called with each resolved address before the connection, so that no name can circumvent the rules.
func (r *run) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return errRefused
	}
	target = netip.AddrPortFrom(target.Addr().WithZone("").Unmap(), target.Port())
	if r.network.trusted {
		return nil
	}
	why := addressguard.WhyNever(target.Addr())
	if why == "" && r.network.Refuse != nil {
		switch err := r.network.Refuse(network, target); {
		case errors.Is(err, syscall.ECONNREFUSED):
			return err
		case err != nil:
			why = err.Error()
		}
	}
	if why == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := netip.ParseAddr(r.name); err != nil && r.network.Discreet {
		r.address = r.name
		return &net.DNSError{Err: "no such host", Name: r.name, IsNotFound: true}
	}
	r.refused = "checks may not connect to " + target.Addr().String() + ": " + why
	return errRefused
}

// errRefused means that an address must not be reached. run.refused says why.
var errRefused = errors.New("refused address")

// countedConn counts and limits what is received.
type countedConn struct {
	net.Conn
	run  *run
	stop func() bool // stops what ends the connection with its context; nil: nothing does

	// The first Read waits until something was written: http.Transport logs what arrives before its request.
	spoken chan struct{} // closed by the first Write and by Close; nil: Read does not wait
	once   sync.Once
}

func (c *countedConn) speak() {
	if c.spoken != nil {
		c.once.Do(func() { close(c.spoken) })
	}
}

// Write writes to the target.
func (c *countedConn) Write(p []byte) (int, error) {
	c.speak()
	return c.Conn.Write(p)
}

// Close closes the connection.
func (c *countedConn) Close() error {
	c.speak()
	if c.stop != nil {
		c.stop()
	}
	return c.Conn.Close()
}

// errTooLong means that the target sent more than a probe reads.
var errTooLong = errors.New("the target sent too much")

// Read reads from the target, and counts.
func (c *countedConn) Read(p []byte) (int, error) {
	if c.spoken != nil {
		<-c.spoken
	}
	n, err := c.Conn.Read(p)
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.run.received += int64(n)
	c.run.answered = c.run.answered || n > 0 && !c.run.isProxy()
	if c.run.received > c.run.limit {
		return n, errTooLong
	}
	return n, err
}

// startTLS speaks TLS on a connection, and measures the handshake.
func (r *run) startTLS(ctx context.Context, conn net.Conn, config *tls.Config) (*tls.Conn, error) {
	r.enter(stageTLS)
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.phases.TLS += r.enterLocked(stageWaiting)
	r.sawCertificates(secured.ConnectionState())
	r.mu.Unlock()
	return secured, nil
}

// sawCertificates notes when the first certificate of all connections expires. The caller holds r.mu.
func (r *run) sawCertificates(s tls.ConnectionState) {
	if at := firstExpiry(s); !at.IsZero() && (r.expires.IsZero() || at.Before(r.expires)) {
		r.expires = at
	}
}

// connect dials, and speaks TLS if secure.
func (r *run) connect(ctx context.Context, network, address string, secure bool, config *tls.Config) (net.Conn, error) {
	conn, err := r.dial(ctx, network, address)
	if err != nil || !secure {
		return conn, err
	}
	secured, err := r.startTLS(ctx, conn, config)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// gotFirstByte notes that a response begins.
func (r *run) gotFirstByte() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phases.FirstByte += r.enterLocked(stageReading)
}

// joinHostPort returns the address of a host, which may be an IPv6 address in brackets.
func joinHostPort(host string, port int) string {
	return net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(port))
}
