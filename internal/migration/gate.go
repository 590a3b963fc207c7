package migration

// gate is a lock for what is held while requests are under way; make it with newGate. A mutex would do, but who waits for a
// mutex stops the clock of testing/synctest, and with it the simulation of this package.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

func (g gate) Lock()   { g <- struct{}{} }
func (g gate) Unlock() { <-g }
