// Package failover tests the topology of deploy/high-availability/README.md under faults, with the files beside it:
// three machines with PostgreSQL under Patroni, etcd, HAProxy and Allswell each, and one machine with HAProxy in front.
// Machines are network and mount namespaces of the kernel, so that a machine can be cut off, frozen or killed.
//
// It also tests that replicas on such machines can tell the failure of a target from the loss of their own network.
package failover
