package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Defaults of Options.
const (
	DefaultTimeout = 30 * time.Second
	DefaultRetries = 3
)

// Options configure a Client. The zero value is ready to use.
type Options struct {
	// Timeout limits each call, with all its retries. Zero means DefaultTimeout. An earlier deadline of the call's
	// context applies too.
	Timeout time.Duration

	// Retries is the maximum number of repetitions of a call. Zero means DefaultRetries; a negative number means never.
	Retries int

	// UserAgent is sent with every request. Empty means "allswell-client".
	UserAgent string

	// Transport sends the requests. Nil means http.DefaultTransport.
	Transport http.RoundTripper
}

// Client calls the API of one Allswell server. It is safe for concurrent use.
type Client struct {
	base    string // without a trailing slash
	token   string
	options Options
	http    *http.Client
}

// New returns a client of the server at baseURL, such as "https://status.example.com". The URL has no path. The token
// is an API token; it may be empty if only [Client.Ping], [Client.Signal] and [Client.Describe] are called. New sends
// nothing.
func New(baseURL, token string, options Options) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not an http or https URL without a path", baseURL)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("an API token has printable ASCII characters only, without spaces") // not the token
	}
	if options.Timeout == 0 {
		options.Timeout = DefaultTimeout
	}
	if options.Retries == 0 {
		options.Retries = DefaultRetries
	}
	if options.UserAgent == "" {
		options.UserAgent = "allswell-client"
	}
	return &Client{
		base: u.Scheme + "://" + u.Host, token: token, options: options,
		http: &http.Client{
			Transport: options.Transport,
			// A redirect would send the token to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// BaseURL returns the server's address, without a trailing slash.
func (c *Client) BaseURL() string { return c.base }
