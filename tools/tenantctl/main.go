// Command tenantctl loads tenants' data into Azure Table Storage and moves tenants between isolation models.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the context; from then on a signal does what it does by default.
	context.AfterFunc(ctx, stop)
	os.Exit(tenantctl.Run(ctx, tenantctl.Process{
		Stdin:    os.Stdin,
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Getenv:   os.Getenv,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
		Version:  version,
	}, os.Args[1:]))
}
