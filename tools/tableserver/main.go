// Command tableserver is the Azure Table service on one machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// version is set by the build.
var version = "dev"

// The exit codes, as the help states them.
const (
	exitStopped = 0
	exitFailure = 1
	exitUsage   = 2
)

// The collector runs at a small heap all the time unless it is told not to: most of the memory is Pebble's cache,
// which it does not see. The limit is soft; beyond it the collector runs as often as it has to.
const (
	gcPercent = 400
	heapLimit = 96 << 20
)

// tuneCollector sets what the environment does not set.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapLimit)
	}
}

func main() {
	tuneCollector()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the context; from then on a signal does what it does by default.
	context.AfterFunc(ctx, stop)
	cmd := newCommand()
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		os.Exit(exitStopped)
	}
	fmt.Fprintln(os.Stderr, "tableserver:", err)
	var usage *usageError
	if errors.As(err, &usage) {
		fmt.Fprintln(os.Stderr, "Run tableserver --help for the flags and an example.")
		os.Exit(exitUsage)
	}
	os.Exit(exitFailure)
}
