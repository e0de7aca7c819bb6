// Package syncbuffer has a buffer that tests read while a server or another process writes to it.
package syncbuffer

import (
	"bytes"
	"sync"
)

// Buffer is a buffer that is safe for concurrent use. Its zero value is empty.
type Buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write appends p. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

// String returns everything that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}
