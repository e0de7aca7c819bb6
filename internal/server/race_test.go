//go:build race

package server

// lostByPools is how many objects of pools a request allocates again, because the race detector makes pools lose some.
const lostByPools = 3
