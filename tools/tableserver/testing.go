package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/control"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/fault"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/throttle"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

// testingOptions are the flags for people who test.
type testingOptions struct {
	ScaleTargets      string
	Faults            []string
	FaultSeed         uint64
	PolicyDelay       time.Duration
	Metrics           bool
	AccessLog         string
	AccessLogFields   string
	ShowPartitionKeys bool
	ControlTokenFile  string
	Seeds             []string
}

func (o *testingOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.ScaleTargets, "scale-targets", "off", "answer ServerBusy beyond `TARGETS` in entities a second: azure (2,000 a partition,\n"+
		"20,000 an account), or partition=N,account=M")
	f.StringArrayVar(&o.Faults, "fault", nil, "`RULE` for requests that go wrong, repeated for more, as in\n"+
		"operation=write,table=Orders,probability=0.1,at=after,drop")
	f.Uint64Var(&o.FaultSeed, "fault-seed", 0, "`number` that the choices of probability= follow from")
	f.DurationVar(&o.PolicyDelay, "policy-delay", 0, "`time` until changed stored access policies count, up to 30s at Azure")
	f.BoolVar(&o.Metrics, "metrics", false, "answer Prometheus at /metrics, without credentials")
	f.StringVar(&o.AccessLog, "access-log", "", "`file` that gets a line of JSON for each request, \"-\" for standard error")
	f.StringVar(&o.AccessLogFields, "access-log-fields", "own", "`NAMES` of the log's fields: own, or azure for those of StorageTableLogs")
	f.BoolVar(&o.ShowPartitionKeys, "show-partition-keys", false, "write PartitionKeys to metrics and log, instead of their hash")
	f.StringArrayVar(&o.Seeds, "seed", nil, "`[ACCOUNT/]TABLE=FILE` that fills a table, if it is not there, from .ndjson or .csv; repeated for more")
	f.StringVar(&o.ControlTokenFile, "control-token-file", "", "`file` with the token that opens "+control.Prefix+", or "+controlTokenVariable+"\n"+
		"in the environment; without a token it is closed")
}

// check reads the flags into the server's options. It opens nothing.
func (o *testingOptions) check() (tableserver.Testing, error) {
	config := tableserver.Testing{FaultSeed: o.FaultSeed, PolicyDelay: o.PolicyDelay, Metrics: o.Metrics}
	var err error
	if config.ScaleTargets, err = throttle.Parse(o.ScaleTargets); err != nil {
		return config, usagef("--scale-targets: %w", err)
	}
	for _, text := range o.Faults {
		rule, err := fault.Parse(text)
		if err != nil {
			return config, usagef("--fault: %w", err)
		}
		config.Faults = append(config.Faults, rule)
	}
	var known bool
	if config.LogFields, known = traffic.ParseFields(o.AccessLogFields); !known {
		return config, usagef("--access-log-fields %q: give own or azure", o.AccessLogFields)
	}
	for _, text := range o.Seeds {
		seed, err := tableserver.ParseSeed(text)
		if err != nil {
			return config, usagef("--seed: %w", err)
		}
		config.Seeds = append(config.Seeds, seed)
	}
	if config.ControlToken, err = o.controlToken(); err != nil {
		return config, err
	}
	if o.ShowPartitionKeys {
		config.PartitionKeys = traffic.PlainKeys
	}
	if err := config.Check(); err != nil {
		return config, &usageError{err}
	}
	return config, nil
}

// controlTokenVariable holds the control token. A flag would show it in the list of processes.
const controlTokenVariable = "TABLESERVER_CONTROL_TOKEN"

// controlToken reads the token; "" for none.
func (o *testingOptions) controlToken() (string, error) {
	token := os.Getenv(controlTokenVariable)
	if o.ControlTokenFile == "" {
		return token, nil
	}
	if token != "" {
		return "", usagef("--control-token-file and %s both give a token: give one of them", controlTokenVariable)
	}
	text, err := os.ReadFile(o.ControlTokenFile)
	if err != nil {
		return "", usagef("--control-token-file: %w", err)
	}
	if token = strings.TrimSpace(string(text)); token == "" {
		return "", usagef("--control-token-file %s: the file is empty", o.ControlTokenFile)
	}
	return token, nil
}

// openLog opens the access log; nil for none.
func (o *testingOptions) openLog(stderr io.Writer) (io.WriteCloser, error) {
	switch o.AccessLog {
	case "":
		return nil, nil
	case "-":
		return keptOpen{stderr}, nil
	}
	f, err := os.OpenFile(o.AccessLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the access log: %w", err)
	}
	return f, nil
}

// keptOpen is a writer that belongs to somebody else.
type keptOpen struct{ io.Writer }

// Close leaves it open.
func (keptOpen) Close() error { return nil }
