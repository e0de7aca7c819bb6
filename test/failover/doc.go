// Package failover tests the topology of docs/operating.md, "High
// availability", with the files of deploy/high-availability, under faults:
// three machines with PostgreSQL under Patroni, etcd, HAProxy and Allswell each,
// and one machine with HAProxy in front. Machines are network and mount
// namespaces of the kernel, so that a machine can be cut off, frozen or killed.
package failover
