package tenantctl

import (
	"context"
	"errors"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/archive"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/ingest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// The exit statuses. They are part of the command line's contract.
const (
	exitDone           = 0
	exitError          = 1
	exitUsage          = 2
	exitDifferences    = 3
	exitIncomplete     = 4
	exitTemporary      = 5
	exitFreezeViolated = 6
	exitLimit          = 8
	exitNothingToDo    = 9
	exitInterrupted    = 130
)

// configError is a configuration that cannot be used.
type configError struct{ err error }

func (e *configError) Error() string { return e.err.Error() }
func (e *configError) Unwrap() error { return e.err }

// incompleteError is a command that stopped with something begun and not finished; the same command finishes it.
type incompleteError struct{ err error }

func (e *incompleteError) Error() string { return e.err.Error() }
func (e *incompleteError) Unwrap() error { return e.err }

// freezeViolatedError says that a tenant was written while its writes were held.
type freezeViolatedError struct{ err error }

func (e *freezeViolatedError) Error() string { return e.err.Error() }
func (e *freezeViolatedError) Unwrap() error { return e.err }

// limitError is a command that stopped because a limit was reached: as many moves failed as were allowed to.
type limitError struct{ err error }

func (e *limitError) Error() string { return e.err.Error() }
func (e *limitError) Unwrap() error { return e.err }

// exitCode returns the exit status of a command that ended with err. The first rule that holds decides.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, migration.ErrNothingToDo):
		return exitNothingToDo
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case as[*usageError](err), as[*access.RequestError](err), as[*ingest.UsageError](err), as[*configError](err):
		return exitUsage
	case as[*migration.DifferencesError](err), as[*migration.CollisionError](err),
		as[*archive.FaultError](err), as[*archive.ConflictError](err), as[*archive.DifferencesError](err):
		return exitDifferences
	case as[*freezeViolatedError](err), as[*migration.StragglersError](err):
		return exitFreezeViolated
	case as[*limitError](err):
		return exitLimit
	case isTemporary(err):
		return exitTemporary
	case as[*incompleteError](err), as[*ingest.IncompleteError](err), errors.Is(err, migration.ErrLeaseLost):
		return exitIncomplete
	default:
		return exitError
	}
}

// isTemporary says whether the cause goes away by itself: another mover at work, writes that are held, a table that is being dropped, an endpoint that does not answer,
// a service that is busy or timed out (reference §8.4).
func isTemporary(err error) bool {
	if as[*migration.BusyError](err) || errors.Is(err, access.ErrHeld) || as[*catalog.TableDroppingError](err) || errors.Is(err, tablestorage.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var refused *tablestorage.Error
	return errors.As(err, &refused) && (refused.Status == 503 || refused.Status == 500 || refused.Status == 429)
}

// as says whether err is or wraps a T.
func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}
