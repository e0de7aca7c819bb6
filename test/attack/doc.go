// Package attack is a campaign against the built binary, from outside: floods,
// hostile peers, smuggled requests, bombs, the last file descriptor, and a stop
// under load. While each attack goes on, jobs ping as the printed line does. An
// attack has succeeded if one of them is reported, if a request that should work
// does not, if memory grows without a bound, or if the server panics or answers
// 500.
//
// A short campaign is part of go test. A long one repeats all attacks, each time
// with another seed, until its time is over:
//
//	ALLSWELL_ATTACK=2h go test -v -timeout 3h ./test/attack
//
// All traffic stays on loopback. Attackers and jobs have addresses of their own
// in 127.0.0.0/8, so that limits per address tell them apart.
package attack
