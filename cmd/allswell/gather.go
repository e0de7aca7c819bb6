package main

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// netHTTPBuffer is the size of the buffer in which net/http gathers an answer.
// When it is full it goes out by itself, and the rest of a large answer follows
// in a second write.
const netHTTPBuffer = 4 << 10

// gatheringListener makes its connections gatherers.
type gatheringListener struct{ net.Listener }

func (l gatheringListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatherer{Conn: conn}, nil
}

// gatherer is a connection that can keep back a full buffer of net/http's until
// what belongs behind it comes, so that a large answer takes the kernel one
// write instead of two. Its methods are called by one goroutine at a time, as
// net/http does with a connection that is not hijacked; Write by nobody else.
// One that is taken over from net/http must not have gathered for the request.
type gatherer struct {
	net.Conn
	on   bool
	held *[netHTTPBuffer]byte // kept back; nil if nothing is
	both [2][]byte
}

var heldBuffers = sync.Pool{New: func() any { return new([netHTTPBuffer]byte) }}

// CloseWrite ends the sending side, as net/http does before it closes a
// connection whose peer still sends.
func (g *gatherer) CloseWrite() error {
	if half, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write sends p, after what was kept back, or keeps p back.
func (g *gatherer) Write(p []byte) (int, error) {
	if g.held == nil {
		if !g.on || len(p) != netHTTPBuffer {
			return g.Conn.Write(p)
		}
		g.held = heldBuffers.Get().(*[netHTTPBuffer]byte)
		return copy(g.held[:], p), nil
	}
	g.both = [2][]byte{g.held[:], p}
	buffers := net.Buffers(g.both[:])
	n, err := buffers.WriteTo(g.Conn)
	g.both = [2][]byte{}
	heldBuffers.Put(g.held)
	g.held = nil
	return max(int(n)-netHTTPBuffer, 0), err
}

// connKey is where a request's context has its connection.
type connKey struct{}

func rememberConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// gathered lets next answer while the connection gathers. What is kept back in
// the end is sent with what net/http still has.
func gathered(next http.Handler, w http.ResponseWriter, r *http.Request) {
	g, ok := r.Context().Value(connKey{}).(*gatherer)
	if !ok {
		next.ServeHTTP(w, r)
		return
	}
	g.on = true
	defer func() {
		g.on = false
		if g.held != nil {
			http.NewResponseController(w).Flush()
		}
		if g.held != nil { // there was nothing else
			g.Write(nil)
		}
	}()
	next.ServeHTTP(w, r)
}
