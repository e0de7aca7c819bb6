package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// connectTimeout bounds connecting to one host, unless the address says otherwise (connect_timeout).
	connectTimeout = 5 * time.Second

	// hangTime is how long a transaction may take before suspect looks for a newer
	// primary, and probeTimeout bounds that.
	hangTime     = 5 * time.Second
	probeTimeout = 3 * time.Second

	// lockTimeout is how long a statement waits for a lock, and idleTimeout how long the server lets a transaction wait
	// for its client, so that a frozen or disconnected client loses its locks. lockTimeout has to be the shorter one.
	lockTimeout = 4 * time.Second
	idleTimeout = 5 * time.Second

	// keepAliveTime is how long a connection may be silent before either side probes
	// it, and the interval of the probes. keepAliveProbes is how many probes may be
	// lost, and peerTimeout how long sent data may stay unacknowledged.
	keepAliveTime   = 5 * time.Second
	keepAliveProbes = 3
	peerTimeout     = 10 * time.Second
)

// errOldTimeline means that the server is on an older timeline than one that was connected to: it is a former primary.
var errOldTimeline = errors.New("the server is on an older timeline: another one has been promoted")

// errLocalOnly means that a commit is on the primary, and perhaps on no standby.
var errLocalOnly = errors.New("the wait for the synchronous standby was cancelled")

// primary connects to the server of a PostgreSQL cluster that accepts writes, and drops the connections to a server
// that no longer does. It is the pool's driver.Connector and safe for concurrent use.
type primary struct {
	log   *slog.Logger
	hosts []*pgx.ConnConfig // one for each host of the address, in its order

	// generation counts how often all connections were dropped. Connections of earlier generations are closed.
	generation atomic.Int64

	mu       sync.Mutex
	sockets  map[*socket]struct{}
	first    int    // index of the host to try first: the last one connected to
	system   string // identifier of the cluster
	timeline uint64 // newest timeline of the cluster that a connection was on
	probing  bool
}

// newPrimary parses an address. Connections are made only to a server that accepts
// writes, unless the address has its own target_session_attrs.
func newPrimary(dsn string, log *slog.Logger) (*primary, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The parser's error may quote the address with its password.
		return nil, errors.New("the database address is not a valid postgres:// URL")
	}
	p := &primary{log: log, sockets: make(map[*socket]struct{})}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if !choosesTarget(dsn) {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	setParameters(config.RuntimeParams)
	config.DialFunc = p.dial
	config.OnNotice = noteWarning
	closing := config.OnPgError
	config.OnPgError = func(c *pgconn.PgConn, e *pgconn.PgError) bool {
		if e.Code == "25006" { // a write in a read-only transaction; we never write in one that we began as read-only
			p.drop(socketOf(c).generation, "the database server has become read-only")
			return false
		}
		return closing(c, e)
	}
	validate := config.ValidateConnect
	config.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, c); err != nil {
				return err
			}
		}
		return p.admit(ctx, c)
	}
	p.hosts = perHost(config)
	return p, nil
}

// choosesTarget reports whether the address or the environment determines which servers may be connected to.
func choosesTarget(dsn string) bool {
	_, query, _ := strings.Cut(dsn, "?")
	values, err := url.ParseQuery(query)
	return err == nil && values.Has("target_session_attrs") || os.Getenv("PGTARGETSESSIONATTRS") != ""
}

// setParameters sets what every session needs, independently of the server's and the role's defaults. The address may
// override the keepalives, because they depend on the network.
func setParameters(parameters map[string]string) {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	seconds := strconv.Itoa(int(keepAliveTime.Seconds()))
	for name, value := range map[string]string{
		"application_name":                    "allswell",
		"synchronous_commit":                  "on",
		"client_min_messages":                 "warning", // noteWarning depends on it
		"lock_timeout":                        ms(lockTimeout),
		"idle_in_transaction_session_timeout": ms(idleTimeout),
		// Our statements end within milliseconds. Compiling one takes up to seconds, and each session does it again: of
		// 2,000 monitors, a page of the list took 3.4 s instead of 10 ms.
		"jit": "off",
	} {
		parameters[name] = value
	}
	for name, value := range map[string]string{
		"tcp_keepalives_idle":     seconds,
		"tcp_keepalives_interval": seconds,
		"tcp_keepalives_count":    strconv.Itoa(keepAliveProbes),
		"tcp_user_timeout":        ms(peerTimeout),
	} {
		if _, set := parameters[name]; !set {
			parameters[name] = value
		}
	}
}

// perHost splits a configuration into one for each host. The variants of one host, with and without TLS, stay together.
func perHost(config *pgx.ConnConfig) (hosts []*pgx.ConnConfig) {
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}},
		config.Fallbacks...)
	for _, way := range ways {
		if n := len(hosts) - 1; n >= 0 && hosts[n].Host == way.Host && hosts[n].Port == way.Port {
			hosts[n].Fallbacks = append(hosts[n].Fallbacks, way)
			continue
		}
		host := config.Copy()
		host.Host, host.Port, host.TLSConfig, host.Fallbacks = way.Host, way.Port, way.TLSConfig, nil
		hosts = append(hosts, host)
	}
	return hosts
}

// Connect connects to the first host that accepts writes, starting with the host that did last.
func (p *primary) Connect(ctx context.Context) (driver.Conn, error) {
	p.mu.Lock()
	first := p.first
	p.mu.Unlock()
	var failed []error
	for i := range p.hosts {
		n := (first + i) % len(p.hosts)
		c, err := stdlib.GetConnector(*p.hosts[n]).Connect(ctx)
		if err == nil {
			p.mu.Lock()
			p.first = n
			p.mu.Unlock()
			return &connection{c.(*stdlib.Conn), p}, nil
		}
		if failed = append(failed, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failed...)
}

// Driver implements driver.Connector.
func (p *primary) Driver() driver.Driver { return stdlib.GetDefaultDriver() }

// admit refuses a former primary. Every promotion begins a new timeline, so a server with a lower timeline than an
// earlier primary of the cluster has been replaced, even if it still accepts writes. Servers that do not report their
// timeline (managed services) are not checked.
func (p *primary) admit(ctx context.Context, c *pgconn.PgConn) error {
	system, timeline, err := askTimeline(ctx, c)
	if err != nil || timeline == 0 {
		return err
	}
	c.CustomData()[timelineKey] = timeline
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case system != p.system: // the first connection, or another cluster took its place
		p.system, p.timeline = system, timeline
	case timeline < p.timeline:
		return errOldTimeline
	default:
		p.timeline = timeline
	}
	return nil
}

func askTimeline(ctx context.Context, c *pgconn.PgConn) (system string, timeline uint64, err error) {
	results, err := c.Exec(ctx, timelineOf).ReadAll()
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && !c.IsClosed() {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	row := results[0].Rows[0]
	timeline, err = strconv.ParseUint(string(row[1]), 10, 64)
	return string(row[0]), timeline, err
}

// suspect looks for a primary on a newer timeline than the timeline of a connection whose transaction hangs, because
// its server may have been replaced. If there is one, the connections of the generation are dropped.
func (p *primary) suspect(generation int64, timeline uint64) {
	p.mu.Lock()
	begin := !p.probing && timeline > 0
	p.probing = p.probing || begin
	p.mu.Unlock()
	if !begin {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	var all sync.WaitGroup
	for n, host := range p.hosts {
		all.Go(func() {
			if probe(ctx, host) <= timeline {
				return
			}
			p.mu.Lock()
			p.first = n
			p.mu.Unlock()
			p.drop(generation, "another database server has been promoted")
		})
	}
	all.Wait()
	p.mu.Lock()
	p.probing = false
	p.mu.Unlock()
}

// The keys of a connection's custom data: its server's timeline, and its last warning.
const (
	timelineKey = "allswell.timeline"
	warningKey  = "allswell.warning"
)

// probe returns the timeline of the primary at a host, or behind it; 0 if there is none.
func probe(ctx context.Context, host *pgx.ConnConfig) uint64 {
	conn, err := pgx.ConnectConfig(ctx, host)
	if err != nil {
		return 0
	}
	timeline := timelineOn(conn.PgConn())
	_ = conn.Close(ctx) // only used to read the timeline
	return timeline
}

// timelineOn returns the timeline of a connection's server when it was connected to; 0 if
// the server does not report it.
func timelineOn(c *pgconn.PgConn) uint64 {
	timeline, _ := c.CustomData()[timelineKey].(uint64)
	return timeline
}

// drop closes all connections of a generation and of earlier ones, even in use. Their users get an error, and repeat
// the transaction on a new connection or return kernel.ErrBusy or kernel.ErrUnknownOutcome.
func (p *primary) drop(generation int64, reason string) {
	if !p.generation.CompareAndSwap(generation, generation+1) {
		return // dropped already
	}
	p.mu.Lock()
	var old []*socket
	for s := range p.sockets {
		if s.generation <= generation {
			old = append(old, s)
		}
	}
	p.mu.Unlock()
	p.log.Warn("database connections dropped", "reason", reason, "connections", len(old))
	for _, s := range old {
		s.Close()
	}
}

// dropAll drops the connections of the current generation.
func (p *primary) dropAll(reason string) { p.drop(p.generation.Load(), reason) }

// A socket is an open connection to a server.
type socket struct {
	net.Conn
	p          *primary
	generation int64
}

// Close closes the socket; it may be called repeatedly.
func (s *socket) Close() error {
	s.p.mu.Lock()
	delete(s.p.sockets, s)
	s.p.mu.Unlock()
	return s.Conn.Close()
}

func (p *primary) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Control: limitUnacknowledged, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: keepAliveTime, Interval: keepAliveTime, Count: keepAliveProbes}}
	generation := p.generation.Load()
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s := &socket{conn, p, generation}
	p.mu.Lock()
	p.sockets[s] = struct{}{}
	p.mu.Unlock()
	if p.generation.Load() != generation { // dropped before it was listed
		s.Close()
		return nil, fmt.Errorf("connecting to %s: %w", address, net.ErrClosed)
	}
	return s, nil
}

// socketOf returns the socket of a connection, below TLS if it is used.
func socketOf(c *pgconn.PgConn) *socket {
	for conn := c.Conn(); ; {
		switch layer := conn.(type) {
		case *socket:
			return layer
		case interface{ NetConn() net.Conn }:
			conn = layer.NetConn()
		default:
			return &socket{Conn: conn} // no socket of dial; it does not occur
		}
	}
}

// noteWarning keeps a warning for transaction.Commit. It compares the severity in the form that is not translated.
func noteWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		c.CustomData()[warningKey] = n.Message
	}
}

// connection is a pooled connection that detects that its server is not the primary any more.
type connection struct {
	*stdlib.Conn
	p *primary
}

func (c *connection) server() *pgconn.PgConn { return c.Conn.Conn().PgConn() }

// watch starts a timer that calls suspect if the following operation hangs. Stop it when the operation is done.
func (c *connection) watch() *time.Timer {
	generation, timeline := socketOf(c.server()).generation, timelineOn(c.server())
	return time.AfterFunc(hangTime, func() { c.p.suspect(generation, timeline) })
}

// superseded reports whether a connection was made since that is on another timeline.
func (c *connection) superseded() bool {
	timeline := timelineOn(c.server())
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	return timeline > 0 && timeline != c.p.timeline
}

// ResetSession refuses a connection that was dropped while idle, and one whose server has been replaced.
func (c *connection) ResetSession(ctx context.Context) error {
	if socketOf(c.server()).generation != c.p.generation.Load() || c.superseded() {
		return driver.ErrBadConn
	}
	defer c.watch().Stop()
	return c.Conn.ResetSession(ctx)
}

// BeginTx begins a transaction.
func (c *connection) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	hangs := c.watch()
	t, err := c.Conn.BeginTx(ctx, o)
	if err != nil {
		hangs.Stop()
		return nil, err
	}
	return &transaction{t, c, hangs}, nil
}

// transaction is a transaction of the driver whose duration is watched.
type transaction struct {
	driver.Tx
	c     *connection
	hangs *time.Timer
}

// Commit returns errLocalOnly if the commit is not replicated: if the wait for a synchronous standby is cancelled,
// PostgreSQL keeps the transaction on the primary, warns, and reports success. No other warning comes at our commits.
func (t *transaction) Commit() error {
	defer t.hangs.Stop()
	notes := t.c.server().CustomData()
	delete(notes, warningKey)
	if err := t.Tx.Commit(); err != nil {
		return fmt.Errorf("the server did not confirm it: %w", err) // wrapped for neverSent
	}
	if message, ok := notes[warningKey]; ok {
		return fmt.Errorf("%w: %v", errLocalOnly, message)
	}
	return nil
}

// Rollback ends the transaction.
func (t *transaction) Rollback() error {
	defer t.hangs.Stop()
	return t.Tx.Rollback()
}
