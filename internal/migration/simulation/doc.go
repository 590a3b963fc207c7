// Package simulation runs the real mover, with its real clients of the table service, in a world that is wholly under control: a
// model of the service in memory, a network that loses, delays and doubts answers, a clock that runs only when nobody has
// anything to do, movers that are killed and writers that go on writing. After every request that the service carries out,
// the invariants I1 to I6 of the design are checked on the model's tables.
//
// One seed is one schedule. It is all test code; start reading at simulation_test.go.
package simulation
