package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/miekg/dns"
)

// fuzzServer answers each connection with the current bytes.
func fuzzServer(f *testing.F) (answer *atomic.Pointer[[]byte], port int) {
	answer = new(atomic.Pointer[[]byte])
	return answer, acceptEach(f, func(conn *net.TCPConn) {
		_, _ = conn.Write(*answer.Load())
		_ = conn.CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
		_, _ = io.Copy(io.Discard, conn)
	})
}

// FuzzAnswers checks that whatever a server answers, in any protocol, gives a result in plain words.
func FuzzAnswers(f *testing.F) {
	for i, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", "PONG",
		"\x16\x03\x03\x00\x04\x0e\x00\x00\x00", "\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x02ok",
		"220 mail ESMTP\r\n250-mail\r\n250 STARTTLS\r\n220 go\r\n", "R\x00\x00\x00\x08\x00\x00\x00\x03",
		"E\x00\x00\x00\x10SFATAL\x00C57P03\x00\x00",
		"\x17\x00\x00\x00\xff\x10\x04Too many connections", "+PONG\r\n", "-LOADING x\r\n",
	} {
		f.Add(byte(i), []byte(seed))
	}
	answer, port := fuzzServer(f)
	var probes []Probe
	for _, typ := range Types {
		given := fmt.Sprintf(`{"host": "127.0.0.1", "port": %d, "expect": "x", "password": "p"}`, port)
		switch typ.Name {
		case "http":
			given = fmt.Sprintf(`{"url": "http://127.0.0.1:%d", "json_path": "$.a", "expected_headers": {"a": "b"}}`,
				port)
		case "websocket":
			given = fmt.Sprintf(`{"url": "ws://127.0.0.1:%d", "expect": "x"}`, port)
		case "dns", "icmp":
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(given), &fields); err != nil {
			f.Fatal(err)
		}
		config, secrets, err := typ.Read(fields)
		if err != nil {
			f.Fatal(err)
		}
		p, err := typ.Probe(config, secrets)
		if err != nil {
			f.Fatal(err)
		}
		probes = append(probes, p)
	}
	f.Fuzz(func(t *testing.T, which byte, bytes []byte) {
		answer.Store(&bytes)
		o := Run(t.Context(), new(Network), probes[int(which)%len(probes)], 5*time.Second)
		expectPlain(t, o)
	})
}

// FuzzDNSAnswers checks that no message of a name server breaks a check.
func FuzzDNSAnswers(f *testing.F) {
	query := new(dns.Msg).SetQuestion("www.example.", dns.TypeTXT)
	answer := new(dns.Msg).SetReply(query)
	record, err := dns.NewRR("www.example. 60 IN TXT \"a\"")
	if err != nil {
		f.Fatal(err)
	}
	answer.Answer = append(answer.Answer, record)
	packed, err := answer.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	p := &dnsProbe{Name: "www.example", RecordType: "TXT", ExpectedValues: []string{"b"}}
	f.Fuzz(func(t *testing.T, message []byte) {
		m := new(dns.Msg)
		if m.Unpack(message) != nil || !isAnswerTo(m, query.Question[0]) {
			return
		}
		for _, kind := range []uint16{dns.TypeTXT, dns.TypeA, dns.TypeCAA, dns.TypeMX, dns.TypeSOA} {
			expectPlain(t, Outcome{Failure: p.missing(recordValues(m, kind))})
		}
		expectPlain(t, Outcome{Failure: rcodeReason(m.Rcode, p.Name)})
	})
}

// FuzzJSONBodies checks that no path and body breaks a check.
func FuzzJSONBodies(f *testing.F) {
	f.Add("$.a", []byte(`{"a": 1}`))
	f.Add("$..a[?(@.b > 1)]", []byte(`[{"a": [{"b": 2}]}]`))
	f.Add("$[1:2]", []byte(`[1, 2]`))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		if len(path) > maxJSONPath {
			return
		}
		var bad kernel.ValidationError
		parsed := checkJSONPath(&bad, path)
		if bad.Err() != nil {
			return
		}
		_, _ = judgeJSON(body, parsed, path, "1", func() bool { return false })
	})
}

// FuzzHealthMessages checks that no message of a gRPC server breaks a check.
func FuzzHealthMessages(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 2, 8, 1})
	f.Fuzz(func(t *testing.T, message []byte) {
		status, ok := healthStatus(message)
		if ok && status == 1 && !bytes.Contains(message, []byte{1}) {
			t.Errorf("%x is healthy", message)
		}
	})
}
