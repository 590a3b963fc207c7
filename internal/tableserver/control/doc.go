// Package control is the control surface of the local server as a client sees it: what it says over the wire, and a
// Client for tests. The server itself answers in package tableserver. It imports fault, throttle and traffic, whose
// rules and counts go over the wire. Start with Client.
package control
