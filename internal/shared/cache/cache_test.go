package cache

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

var errGone = errors.New("gone")

const (
	testEntries = 512
	testBytes   = 32 << 20
)

type testKey struct {
	owner string
	n     int
}

func (k testKey) Owner() any { return k.owner }

type sized struct{ bytes int }

func (s *sized) Size() int { return s.bytes }

// testCache is a cache of values with a given size.
type testCache struct {
	*Cache[testKey, *sized]
	t       *testing.T
	version atomic.Uint64
}

func newTestCache(t *testing.T) *testCache {
	return &testCache{t: t, Cache: New[testKey, *sized](Config[testKey]{
		MaxEntries: testEntries, MaxBytes: testBytes, Now: time.Now,
		Gone:    func(err error) bool { return errors.Is(err, errGone) },
		OnError: func(testKey, error) {},
	})}
}

// get loads a value of a size if it is not cached.
func (c *testCache) get(key testKey, bytes int) *sized {
	c.t.Helper()
	v, err := c.Get(c.t.Context(), key, &c.version, loads(bytes, nil))
	if err != nil {
		c.t.Fatal(err)
	}
	return v
}

// resize reloads a value with another size.
func (c *testCache) resize(key testKey, bytes int) {
	c.t.Helper()
	c.remove(key)
	c.get(key, bytes)
}

func loads(bytes int, err error) Loader[*sized] {
	return func(context.Context) (*sized, time.Time, error) { return &sized{bytes}, time.Time{}, err }
}

// is checks the number of entries and bytes of the cache.
func (c *testCache) is(when string, entries, bytes int) {
	c.t.Helper()
	if c.entries.Len() != entries || c.bytes != bytes {
		c.t.Errorf("%s: %d entries, %d bytes; want %d, %d", when, c.entries.Len(), c.bytes, entries, bytes)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newTestCache(t)
	key := func(n int) testKey { return testKey{"a", n} }
	first := c.get(key(-1), 10)
	for n := range 3 * testEntries {
		c.get(key(n), 10)
		if c.get(key(-1), 10) != first {
			t.Fatalf("a value that is used all the time was evicted by value %d", n)
		}
	}
	c.is("after many", testEntries, 10*testEntries)
	if c.Contains(key(0)) {
		t.Error("the least recently used value is still there")
	}

	c.get(key(0), testBytes-5)
	c.is("after a large one", 1, testBytes-5)
	c.resize(key(0), 7)
	c.is("after it shrank", 1, 7)
	c.get(key(1), testBytes+1) // it is kept, because otherwise each request would load it
	c.is("after one that does not fit", 1, testBytes+1)
	if !c.Contains(key(1)) {
		t.Error("the value that does not fit is not kept")
	}
	c.get(key(2), 10)
	c.is("after a small one", 1, 10)
	if len(c.owned) != 1 {
		t.Errorf("the cache knows %d owners, want 1", len(c.owned))
	}
}

// TestOwnersShare checks that an owner of large values evicts its own values.
func TestOwnersShare(t *testing.T) {
	c := newTestCache(t)
	for n := range 100 {
		c.get(testKey{"small", n}, 1000)
	}
	for n := range 50 {
		c.get(testKey{"large", n}, testBytes/8)
	}
	for n := range 100 {
		if !c.Contains(testKey{"small", n}) {
			t.Fatalf("value %d of the owner of small ones was evicted", n)
		}
	}
	if c.bytes > testBytes || !c.Contains(testKey{"large", 49}) {
		t.Errorf("the cache has %d bytes", c.bytes)
	}
}

// TestValuesReload checks that a reloaded value counts with its new size, and that the old value is served
// while it cannot be loaded.
func TestValuesReload(t *testing.T) {
	c := newTestCache(t)
	key, size := testKey{"a", 1}, 10
	var fails error
	get := func() (*sized, error) {
		return c.Get(t.Context(), key, &c.version, func(context.Context) (*sized, time.Time, error) {
			return &sized{size}, time.Time{}, fails
		})
	}
	if _, err := get(); err != nil {
		t.Fatal(err)
	}
	size = 30
	c.version.Add(1)
	if v, err := get(); err != nil || v.bytes != 30 {
		t.Errorf("reloaded: %v, %v", v, err)
	}
	c.is("reloaded", 1, 30)

	fails = errors.New("broken")
	c.version.Add(1)
	if v, err := get(); err != nil || v.bytes != 30 {
		t.Errorf("while it cannot be loaded: %v, %v", v, err)
	}
	fails = errGone
	c.version.Add(1)
	if v, err := get(); v != nil || !errors.Is(err, errGone) {
		t.Errorf("once it is gone: %v, %v", v, err)
	}
	c.is("once it is gone", 0, 0)
}

// TestFailedLoadsUseNoSpace checks that a load that fails or panics leaves no entry.
func TestFailedLoadsUseNoSpace(t *testing.T) {
	c := newTestCache(t)
	c.get(testKey{"a", 0}, 10)
	for n, load := range []Loader[*sized]{
		loads(10, errGone), loads(10, errors.New("broken")),
		func(context.Context) (*sized, time.Time, error) { panic("not foreseen") },
	} {
		key := testKey{"a", n + 1}
		if v, err := c.Get(t.Context(), key, &c.version, load); v != nil || err == nil {
			t.Errorf("load %d: %v, %v", n, v, err)
		}
		if c.Contains(key) || len(c.loading) != 0 {
			t.Errorf("load %d: %d are loading", n, len(c.loading))
		}
	}
	c.is("after failed loads", 1, 10)
}

// TestDerivedValue checks that a value derived from the Last of another is stale when the other is
// reloaded.
func TestDerivedValue(t *testing.T) {
	var version atomic.Uint64
	n := 0
	source := &Value[*sized]{Version: &version, Now: time.Now, Load: func(context.Context) (*sized, time.Time, error) {
		n++
		return &sized{n}, time.Time{}, nil
	}}
	derived := &Value[*sized]{
		Version: &source.Loads, Now: time.Now, Load: func(context.Context) (*sized, time.Time, error) {
			return &sized{10 * source.Last().bytes}, time.Time{}, nil
		},
	}
	for want := 10; want <= 30; want += 10 {
		for range 2 {
			if _, err := source.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
			if v, err := derived.Get(t.Context()); err != nil || v.bytes != want {
				t.Errorf("Get of a derived value = %v, %v; want %d", v, err, want)
			}
		}
		version.Add(1)
	}
}
