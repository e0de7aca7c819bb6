package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// ownerShare is the number of shares in a full cache. If an owner has more than one share, a new value of the owner
// evicts the owner's own values instead of other owners' values.
const ownerShare = 4

// Sized is a value of a Cache.
type Sized interface {
	comparable
	Size() int // bytes in memory; does not change
}

// Key is the key of a value of a Cache.
type Key interface {
	comparable
	Owner() any // the owner of the value; see ownerShare
}

// Config configures a Cache. All fields are required.
type Config[K Key] struct {
	MaxEntries int
	MaxBytes   int
	Now        func() time.Time
	Gone       func(error) bool     // reports whether an error of a load means that the value no longer exists
	OnError    func(key K, e error) // see Value.OnError
}

// Cache holds values by key. It evicts the least recently used values, so that the
// others fit into MaxEntries and MaxBytes. A value larger than MaxBytes is kept
// alone. A value is added when it has been loaded: a failed load evicts nothing.
type Cache[K Key, V Sized] struct {
	config Config[K]

	mu      sync.Mutex
	entries *simplelru.LRU[K, entry[V]]
	loading map[K]*Value[V] // first loads in progress
	bytes   int
	owned   map[any]int // bytes by owner
}

type entry[V comparable] struct {
	value *Value[V]
	bytes int
}

// New returns an empty cache.
func New[K Key, V Sized](config Config[K]) *Cache[K, V] {
	c := &Cache[K, V]{config: config, loading: make(map[K]*Value[V]), owned: make(map[any]int)}
	entries, err := simplelru.NewLRU(config.MaxEntries, func(key K, e entry[V]) { c.count(key, -e.bytes) })
	if err != nil {
		panic(err) // MaxEntries is not positive
	}
	c.entries = entries
	return c
}

// Get returns the value of a key. It loads the value if it is missing or stale; version and load are as for a Value. If
// a stale value cannot be reloaded, Get returns it without an error, unless Gone reports that it no longer exists.
func (c *Cache[K, V]) Get(ctx context.Context, key K, version *atomic.Uint64, load Loader[V]) (value V, err error) {
	value, err = c.valueOf(key, version, load).Get(ctx)
	var none V
	if value == none || err != nil && c.config.Gone(err) {
		return none, err
	}
	return value, nil
}

// Contains reports whether a key has a value, or a load in progress.
func (c *Cache[K, V]) Contains(key K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Contains(key) || c.loading[key] != nil
}

// valueOf returns the Value of a key, and creates it if necessary.
func (c *Cache[K, V]) valueOf(key K, version *atomic.Uint64, load Loader[V]) *Value[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.Get(key); ok {
		return e.value
	}
	if v := c.loading[key]; v != nil {
		return v
	}
	v := &Value[V]{Version: version, Now: c.config.Now}
	v.OnError = func(err error) { c.config.OnError(key, err) }
	v.Load = func(ctx context.Context) (V, time.Time, error) {
		value, expires, err := load.safely(ctx)
		var none V
		switch {
		case err == nil:
			c.add(key, v, value.Size())
		case v.Last() == none, c.config.Gone(err):
			c.remove(key)
		}
		return value, expires, err
	}
	c.loading[key] = v
	return v
}

// add adds a loaded value, and evicts others to make space.
func (c *Cache[K, V]) add(key K, v *Value[V], bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loading, key)
	c.entries.Remove(key) // it may have another size
	c.entries.Add(key, entry[V]{v, bytes})
	c.count(key, bytes)
	for c.bytes > c.config.MaxBytes && c.entries.Len() > 1 {
		if !c.evictOwn(key) {
			c.entries.RemoveOldest()
		}
	}
}

// evictOwn evicts the least recently used other value of a key's owner if the owner has more than its share, and
// reports whether it did. In this way an owner of large values does not slow down others.
func (c *Cache[K, V]) evictOwn(added K) bool {
	owner := added.Owner()
	if c.owned[owner] <= c.config.MaxBytes/ownerShare {
		return false
	}
	for _, key := range c.entries.Keys() { // least recently used first
		if key.Owner() == owner && key != added {
			return c.entries.Remove(key)
		}
	}
	return false
}

func (c *Cache[K, V]) remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loading, key)
	c.entries.Remove(key)
}

// count adds bytes to the totals. The caller holds the mutex.
func (c *Cache[K, V]) count(key K, bytes int) {
	owner := key.Owner()
	c.bytes += bytes
	if c.owned[owner] += bytes; c.owned[owner] == 0 {
		delete(c.owned, owner)
	}
}

// Stats returns the number of cached values and their bytes.
func (c *Cache[K, V]) Stats() (entries, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len(), c.bytes
}
