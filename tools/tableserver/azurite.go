package main

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver"
)

// azuriteOptions are the flags of Azurite (README of Azurite 3.x), so that replacing it takes one line. They are hidden
// from the help; where one means what a flag of ours does, giving both is a mistake.
type azuriteOptions struct {
	Host, Location, Debug string
	Port                  int
	InMemory, Silent      bool
	PathStyle             bool

	flags *pflag.FlagSet
}

// azuriteRefusals say why flags that Azurite has cannot be honoured here.
var azuriteRefusals = map[string]string{
	"pwd":                   "a passphrase on the command line is seen by everybody: give --cert and --key in PEM",
	"oauth":                 "Azurite lets every token do everything: give --roles FILE, which says who may do what",
	"blobHost":              onlyTables,
	"blobPort":              onlyTables,
	"blobKeepAliveTimeout":  onlyTables,
	"queueHost":             onlyTables,
	"queuePort":             onlyTables,
	"queueKeepAliveTimeout": onlyTables,
	"extentMemoryLimit":     onlyTables,
	"tableKeepAliveTimeout": "an idle connection is kept for five minutes",
}

const onlyTables = "there is a table service here and no other"

// azuriteDefaults are flags that ask for what is always so: no header is refused that the service takes, newer versions
// are taken, nothing is reported to anybody.
var azuriteDefaults = []string{"loose", "skipApiVersionCheck", "disableTelemetry"}

func (o *azuriteOptions) addFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringVar(&o.Host, "tableHost", "127.0.0.1", "as --listen")
	f.IntVar(&o.Port, "tablePort", 10002, "as --listen")
	f.StringVarP(&o.Location, "location", "l", "", "as --data")
	f.BoolVar(&o.InMemory, "inMemoryPersistence", false, "as --in-memory")
	f.BoolVarP(&o.Silent, "silent", "s", false, "no access log, as always")
	f.StringVarP(&o.Debug, "debug", "d", "", "file for the log, with debug messages")
	f.BoolVar(&o.PathStyle, "disableProductStyleUrl", false, "as --path-style")
	var ignored bool
	for _, name := range azuriteDefaults {
		shorthand := map[string]string{"loose": "L"}[name]
		f.BoolVarP(&ignored, name, shorthand, false, "as always")
	}
	for name := range azuriteRefusals {
		f.String(name, "", "not here")
	}
	for _, name := range []string{"tableHost", "tablePort", "location", "inMemoryPersistence", "silent", "debug", "disableProductStyleUrl"} {
		f.Lookup(name).Hidden = true
	}
	for _, name := range azuriteDefaults {
		f.Lookup(name).Hidden = true
	}
	for name := range azuriteRefusals {
		f.Lookup(name).Hidden = true
	}
}

// apply sets our options from Azurite's, or says which flag cannot be honoured.
func (o *azuriteOptions) apply(to *options) error {
	if o.flags == nil {
		return nil
	}
	for name, why := range azuriteRefusals {
		if o.flags.Changed(name) {
			return usagef("--%s of Azurite cannot be honoured: %s", name, why)
		}
	}
	for _, pair := range [][2]string{{"tableHost", "listen"}, {"tablePort", "listen"}, {"location", "data"}, {"silent", "access-log"}} {
		if o.flags.Changed(pair[0]) && o.flags.Changed(pair[1]) {
			return usagef("--%s and --%s say the same or contradict each other: give one of them", pair[0], pair[1])
		}
	}
	if o.flags.Changed("tableHost") || o.flags.Changed("tablePort") {
		to.Listen = net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	}
	if o.Location != "" {
		to.Data = o.Location
	}
	to.InMemory = to.InMemory || o.InMemory
	to.PathStyle = to.PathStyle || o.PathStyle
	return nil
}

// azuriteData is the file in which Azurite keeps its tables.
const azuriteData = "__azurite_db_table__.json"

// warn says what somebody who comes from Azurite may miss.
func (o *azuriteOptions) warn(log *slog.Logger, dir string) {
	if dir == "" {
		return
	}
	if _, err := os.Stat(filepath.Join(dir, azuriteData)); err == nil {
		log.Warn("Azurite's tables in this folder are not read", slog.String("file", filepath.Join(dir, azuriteData)))
	}
}

// azuriteAccounts is the environment variable that Azurite reads its accounts from.
const azuriteAccounts = "AZURITE_ACCOUNTS"

// parseAzuriteAccounts reads NAME:KEY1[:KEY2];… The errors show no key.
func parseAzuriteAccounts(text string) ([]tableserver.Account, error) {
	var accounts []tableserver.Account
	for entry := range strings.SplitSeq(text, ";") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		parts := strings.Split(entry, ":")
		if len(parts) < 2 || len(parts) > 3 {
			return nil, fmt.Errorf("%s: account %d: give NAME:KEY1[:KEY2];…", azuriteAccounts, len(accounts)+1)
		}
		a := tableserver.Account{Name: parts[0]}
		for i, encoded := range parts[1:] {
			key, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil || len(key) == 0 {
				return nil, fmt.Errorf("%s: key %d of account %d is not base64", azuriteAccounts, i+1, len(accounts)+1)
			}
			if i == 0 {
				a.Key = key
			} else {
				a.SecondKey = key
			}
		}
		accounts = append(accounts, a)
	}
	if err := tableserver.CheckAccounts(accounts); err != nil {
		return nil, fmt.Errorf("%s: %w", azuriteAccounts, err)
	}
	return accounts, nil
}
