// Command serverbench measures tableserver against Azurite and against a bare limit, all on disk on this machine, with
// one light client for all three, in one run (make bench-server). Start reading at main.go; workload.go says what is sent.
package main
