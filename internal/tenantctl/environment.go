package tenantctl

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

// environment is what commands share: the process and the flags of all commands.
type environment struct {
	process    Process
	stderr     *lockedWriter
	configFile string
	json       bool
}

// lockedWriter lets progress and messages of several goroutines share standard error line by line.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// services are the accounts and the catalog of the configuration.
type services struct {
	accounts *tablestorage.Accounts
	catalog  *catalog.Catalog
	tool     string // name and version of this program
}

// open reads the configuration. It sends nothing.
func (env *environment) open() (services, error) {
	cfg, err := env.config()
	if err != nil {
		return services{}, &configError{err}
	}
	accounts, err := tablestorage.NewAccounts(cfg, &tablestorage.ClientOptions{UserAgent: "tenantctl/" + env.process.Version})
	if err != nil {
		return services{}, &configError{err}
	}
	return services{accounts, catalog.Open(accounts.Home(), accounts.CatalogTable()), "tenantctl " + env.process.Version}, nil
}

// engine returns the mover.
func (s services) engine(p migration.Progress) *migration.Engine {
	return &migration.Engine{Catalog: s.catalog, Accounts: s.accounts, Progress: p, Tool: s.tool}
}

// progress returns the form of progress that fits standard error. It must be closed before the result is written.
func (env *environment) progress() ui.Progress {
	switch {
	case env.json:
		return ui.JSON(env.stderr)
	case env.process.Terminal:
		return ui.Bar(env.stderr)
	default:
		return ui.Lines(env.stderr)
	}
}

// say writes one remark to standard error.
func (env *environment) say(text string) {
	if env.json {
		ui.WriteJSONWarning(env.stderr, text)
		return
	}
	_, _ = fmt.Fprintln(env.stderr, "tenantctl: "+text)
}

// write writes a result to standard output: as one JSON object, or as text.
func write[T any](env *environment, result T, text func(w io.Writer) error) error {
	var err error
	if env.json {
		encoder := json.NewEncoder(env.process.Stdout)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(result)
	} else {
		err = text(env.process.Stdout)
	}
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
