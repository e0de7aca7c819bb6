package client

import (
	"context"
	"time"
)

// PingKey is the key of a page: with it and the slug of a monitor of the page, a job pings without the monitor's token.
type PingKey struct {
	Meta
	Key           string     `json:"key"` // a secret; "": there is none
	Access        PingAccess `json:"access"`
	PingURL       string     `json:"ping_url"` // the slug of a monitor follows
	CreatedAt     *time.Time `json:"created_at"`
	PreviousUntil *time.Time `json:"previous_until"` // until when the key before the last rotation is valid
}

// PingKeyChange is a change of the ping key of a page.
type PingKeyChange struct {
	Access *PingAccess `json:"access,omitempty"` // PingAccessOff: every key of the page becomes invalid
	Key    *string     `json:"key,omitempty"`    // of another service, for a page without a key; nil: a random one
}

// GetPingKey returns the ping key of a page.
func (c *Client) GetPingKey(ctx context.Context, slug string) (*PingKey, error) {
	return get[PingKey](ctx, c, pathOf("pages", slug, "ping-key"))
}

// ChangePingKey makes the ping key of a page, changes what it allows, or removes it.
func (c *Client) ChangePingKey(ctx context.Context, slug string, change PingKeyChange) (*PingKey, error) {
	return patch[PingKey](ctx, c, pathOf("pages", slug, "ping-key"), change)
}

// RotatePingKey gives a page another ping key. The old one keeps working for 24 hours.
func (c *Client) RotatePingKey(ctx context.Context, slug string, options ...CallOption) (*PingKey, error) {
	return post[PingKey](ctx, c, pathOf("pages", slug, "ping-key", "rotate"), nil, options...)
}
