// Package dnsserver is a DNS server for tests, on a UDP port of the loopback interface.
package dnsserver

import (
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Server answers queries for TXT records, and for addresses if Resolve was called.
type Server struct {
	conn net.PacketConn

	mu      sync.Mutex
	values  map[string][]string
	address [4]byte // of all names, unless it is zero
	rcode   dnsmessage.RCode
	silent  bool
	queries int
}

// New returns a server that is closed at the end of the test. At first, it answers that no name exists.
func New(t testing.TB) *Server {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &Server{conn: conn, values: make(map[string][]string)}
	go s.serve()
	return s
}

// Address returns the host and port of the server.
func (s *Server) Address() string { return s.conn.LocalAddr().String() }

// Queries returns how many queries were received.
func (s *Server) Queries() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queries
}

// Set sets the TXT records of a name; without values the name does not exist.
func (s *Server) Set(name string, values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[name] = values
}

// Resolve sets the IPv4 address of all names.
func (s *Server) Resolve(address [4]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
}

// Fail makes the server answer every query with rcode; dnsmessage.RCodeSuccess ends that.
func (s *Server) Fail(rcode dnsmessage.RCode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rcode = rcode
}

// Silence makes the server receive queries without answering.
func (s *Server) Silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = true
}

func (s *Server) serve() {
	for packet := make([]byte, 1500); ; {
		n, from, err := s.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		if answer := s.answer(packet[:n]); answer != nil {
			_, _ = s.conn.WriteTo(answer, from)
		}
	}
}

func (s *Server) answer(packet []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(packet) != nil || len(m.Questions) != 1 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries++
	if s.silent {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.RecursionAvailable, m.Additionals, m.RCode = true, true, true, nil, s.rcode
	if values := s.values[strings.TrimSuffix(q.Name.String(), ".")]; m.RCode == dnsmessage.RCodeSuccess {
		for _, v := range values {
			if q.Type == dnsmessage.TypeTXT {
				m.Answers = append(m.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.TXTResource{TXT: []string{v}},
				})
			}
		}
		resolved := s.address != [4]byte{}
		if resolved && q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: s.address},
			})
		}
		if len(values) == 0 && !resolved {
			m.RCode = dnsmessage.RCodeNameError
		}
	}
	answer, err := m.Pack()
	if err != nil {
		return nil
	}
	return answer
}
