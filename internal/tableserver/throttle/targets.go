package throttle

import (
	"fmt"
	"strconv"
	"strings"
)

// Targets are entities a second; 0 means no limit. A limit also is what may come at once after a second of rest.
type Targets struct {
	Partition int `json:"partition"`
	Account   int `json:"account"`
}

// Azure returns the published targets: 2,000 entities of 1 KiB a second for a partition, 20,000 for an account
// (Scalability and performance targets for Table storage).
func Azure() Targets { return Targets{Partition: 2000, Account: 20000} }

// Parse reads "azure", "off", or "partition=N,account=M", of which one may be left out.
func Parse(text string) (Targets, error) {
	switch text {
	case "azure":
		return Azure(), nil
	case "off":
		return Targets{}, nil
	}
	var t Targets
	for field := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(field, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return Targets{}, fmt.Errorf("scale targets %q: %q is not NAME=N with N entities a second, 1 or more: "+
				`give "azure", "off", or partition=N,account=M`, text, field)
		}
		to := map[string]*int{"partition": &t.Partition, "account": &t.Account}[name]
		switch {
		case to == nil:
			return Targets{}, fmt.Errorf("scale targets %q: there is no target %q: give partition=N, account=M or both", text, name)
		case *to != 0:
			return Targets{}, fmt.Errorf("scale targets %q: %s is given twice", text, name)
		}
		*to = n
	}
	return t, nil
}

// Check says what is wrong with targets that did not come from Parse.
func (t Targets) Check() error {
	if t.Partition < 0 || t.Account < 0 {
		return fmt.Errorf("scale targets partition=%d, account=%d: give entities a second, or 0 for no limit", t.Partition, t.Account)
	}
	return nil
}

// String returns the form that Parse reads.
func (t Targets) String() string {
	var fields []string
	if t.Partition > 0 {
		fields = append(fields, "partition="+strconv.Itoa(t.Partition))
	}
	if t.Account > 0 {
		fields = append(fields, "account="+strconv.Itoa(t.Account))
	}
	if fields == nil {
		return "off"
	}
	return strings.Join(fields, ",")
}
