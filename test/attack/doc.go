// Package attack attacks the built binary from outside: floods, slow and hostile peers, request smuggling, compression
// bombs, exhausted file descriptors, and a shutdown under load. During each attack, jobs ping like the command line
// that Allswell prints. An attack succeeds if one of the jobs is reported as down, if a valid request fails, if memory
// grows without bound, or if the server panics or responds with 500.
//
// A short campaign is part of go test. A long one repeats all attacks, each time with another seed, for the given time:
//
//	ALLSWELL_ATTACK=2h go test -v -timeout 3h ./test/attack
//
// All traffic stays on loopback. Attackers and jobs have different addresses in
// 127.0.0.0/8, because limits apply per address.
package attack
