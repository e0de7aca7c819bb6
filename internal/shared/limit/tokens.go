package limit

import "time"

// FailuresPerAddress is the maximum number of requests without a valid token in any
// minute, per client address; ten times as many per IPv6 /64 network.
const FailuresPerAddress = 100

// Tokens are the limits of requests with API tokens. All surfaces share them.
type Tokens struct {
	Calls  *Limiter   // by token id
	Failed *Addresses // requests without a valid token, by address
}

// NewTokens returns limits that allow perToken requests of a token in any minute. If it is 0, there are no limits.
func NewTokens(perToken int) *Tokens {
	failures := FailuresPerAddress
	if perToken == 0 {
		failures = 0
	}
	return &Tokens{New(perToken, time.Minute), NewAddresses(failures, time.Minute)}
}
