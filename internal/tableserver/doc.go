// Package tableserver is the Azure Table service on one machine: HTTP, routing and the handlers of every operation.
//
// Storage is in store, $filter in odata, credentials in auth, multipart bodies in batch. For people who test, throttle
// holds accounts to scale targets, fault lets requests fail, traffic records them, and control steers all of it: admit.go
// and observe.go are where requests meet them. Of this module it imports only edm and its own subpackages. Start with Server, then router.go, which turns a request into an operation;
// each handler_*.go answers one family of operations.
package tableserver
