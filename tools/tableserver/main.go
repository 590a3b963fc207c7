// Command tableserver is the Azure Table service on one machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
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

func main() {
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
