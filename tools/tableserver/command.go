package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver"
)

// options are the flags.
type options struct {
	Listen                 string
	Data                   string
	InMemory               bool
	Accounts               []string
	PrintConnectionStrings bool
	AllowRemoteHTTP        bool
	AnyAccount             bool
	PathStyle              bool
	Azurite                azuriteOptions
	Access                 accessOptions
	Testing                testingOptions
}

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

// Unwrap returns the mistake.
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

const help = `tableserver answers the Azure Table protocol for one or more storage accounts on this machine.

It keeps its data in a folder, where an answered write is on disk, or in memory. On standard output it
prints one line for the address and one for each account, with fields that scripts can read:

  listening address=127.0.0.1:10002 endpoint=http://127.0.0.1:10002/
  account name=devstoreaccount1 endpoint=http://127.0.0.1:10002/devstoreaccount1/

With a generated certificate the first line ends with ca=FILE, which clients need to trust.

It stops on SIGINT or SIGTERM after the running requests are answered.

Exit status:
  0  stopped by a signal
  1  could not start, or could not go on
  2  wrong flags`

const example = `  tableserver --in-memory
  tableserver --listen 127.0.0.1:0 --data ./tabledata --account home --account premium --print-connection-strings
  tableserver --https --data ./tabledata --roles roles.json --token-tenant 11111111-1111-1111-1111-111111111111 --token-keys jwks.json`

func newCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "tableserver (--data DIR | --in-memory)",
		Short:         "The Azure Table service on one machine",
		Long:          help,
		Example:       example,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unexpected argument %q: everything is said with flags", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.Data, "data", "", "`folder` that keeps the data; made if it does not exist")
	f.BoolVar(&o.InMemory, "in-memory", false, "keep the data in memory; it is gone when the server stops")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:10002", "`address` to listen on; port 0 picks a free one")
	f.StringArrayVar(&o.Accounts, "account", nil, "`NAME[:BASE64KEY]` of an account, repeated for more; without a key one is\n"+
		"generated and kept in the data folder (default those of "+azuriteAccounts+" in the environment,\n"+
		"else "+tableserver.DevAccount+" with its published key)")
	f.BoolVar(&o.AnyAccount, "any-account", false, "answer for every account name, with the published key of "+tableserver.DevAccount)
	f.BoolVar(&o.PathStyle, "path-style", false, "take the account from the path alone, never from the host's name")
	f.BoolVar(&o.PrintConnectionStrings, "print-connection-strings", false, "print each account's connection string, which holds its key")
	f.BoolVar(&o.AllowRemoteHTTP, "allow-remote-http", false, "listen beyond this machine although http shows everything to the network")
	o.Access.addFlags(f)
	o.Testing.addFlags(f)
	o.Azurite.addFlags(f)
	return cmd
}

// check reads the flags into the server's options.
func (o options) check() (tableserver.Options, error) {
	var config tableserver.Options
	switch {
	case o.InMemory && o.Data != "":
		return config, usagef("--data and --in-memory exclude each other: give one of them")
	case !o.InMemory && o.Data == "":
		return config, usagef("nowhere to keep the data: give --data DIR, or --in-memory to lose it at the end")
	}
	config.Dir, config.InMemory, config.AnyAccount, config.PathStyle = o.Data, o.InMemory, o.AnyAccount, o.PathStyle
	for _, text := range o.Accounts {
		name, encoded, hasKey := strings.Cut(text, ":")
		key, err := base64.StdEncoding.DecodeString(encoded)
		if hasKey && (err != nil || len(key) == 0) {
			return config, usagef("--account %s: the key is not base64: give NAME:BASE64KEY, or NAME for a generated key", name)
		}
		config.Accounts = append(config.Accounts, tableserver.Account{Name: name, Key: key})
	}
	if text := os.Getenv(azuriteAccounts); text != "" && len(o.Accounts) == 0 {
		var err error
		if config.Accounts, err = parseAzuriteAccounts(text); err != nil {
			return config, &usageError{err}
		}
	}
	if err := tableserver.CheckAccounts(config.Accounts); err != nil {
		return config, &usageError{err}
	}
	var err error
	config.Testing, err = o.Testing.check()
	return config, err
}

// run serves until ctx ends.
func run(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	if err := o.Azurite.apply(&o); err != nil {
		return err
	}
	config, err := o.check()
	if err != nil {
		return err
	}
	log, closeLog, err := o.openLog(stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	config.Logger = log
	o.Azurite.warn(log, o.Data)
	accessLog, err := o.Testing.openLog(stderr)
	if err != nil {
		return err
	}
	if accessLog != nil {
		config.Testing.AccessLog = accessLog
		defer func() { err = errors.Join(err, accessLog.Close()) }()
	}
	if err := o.Access.apply(ctx, o.Listen, config.Logger, &config); err != nil {
		return err
	}
	l, err := listen(ctx, o, config)
	if err != nil {
		return err
	}
	server, err := tableserver.New(config)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if _, err := io.WriteString(stdout, greeting(server, l.Addr(), o.PrintConnectionStrings)); err != nil {
		return errors.Join(fmt.Errorf("print the address: %w", err), l.Close())
	}
	return server.Serve(ctx, l)
}

// openLog opens the log of the server itself: standard error, or the file of --debug.
func (o options) openLog(stderr io.Writer) (log *slog.Logger, closeLog func() error, err error) {
	if o.Azurite.Debug == "" {
		return slog.New(slog.NewTextHandler(stderr, nil)), func() error { return nil }, nil
	}
	f, err := os.OpenFile(o.Azurite.Debug, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, usagef("--debug: %w", err)
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})), f.Close, nil
}

// listen opens the address. Without https only this machine may reach it, unless the flag says otherwise; and never
// anybody else where everybody would get in.
func listen(ctx context.Context, o options, server tableserver.Options) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", o.Listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: another program uses this port: stop it, or give another --listen (port 0 picks a free one)", o.Listen)
	}
	if err != nil {
		return nil, usagef("listen on %s: %w", o.Listen, err)
	}
	at, ok := l.Addr().(*net.TCPAddr)
	if local := ok && at.IP.IsLoopback(); local {
		return l, nil
	}
	if why := server.LocalOnly(); why != nil {
		return nil, errors.Join(usagef("--listen %s reaches beyond this machine, and %w: listen on 127.0.0.1", o.Listen, why), l.Close())
	}
	if server.HTTPS == nil && !o.AllowRemoteHTTP {
		return nil, errors.Join(usagef("--listen %s reaches beyond this machine, where http shows keys' signatures and data to the network: "+
			"listen on 127.0.0.1, or give --https or --allow-remote-http", o.Listen), l.Close())
	}
	return l, nil
}

// greeting is what scripts read: one line for the address, one for each account.
func greeting(s *tableserver.Server, at net.Addr, secrets bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "listening address=%s endpoint=%s/", at, s.URL(at))
	if ca := s.CAFile(); ca != "" {
		fmt.Fprintf(&b, " ca=%s", ca)
	}
	b.WriteByte('\n')
	for _, a := range s.Accounts() {
		endpoint := s.Endpoint(at, a.Name)
		fmt.Fprintf(&b, "account name=%s endpoint=%s", a.Name, endpoint)
		if secrets {
			b.WriteString(" connection_string=" + a.ConnectionString(endpoint))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
