package tenantctl

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

const versionHelp = `Print the version of tenantctl.

EXIT STATUS
  0    done`

type versionResult struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersionCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    versionHelp,
		Example: "  tenantctl version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionResult{env.process.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			return write(env, v, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "tenantctl %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
				return err
			})
		},
	}
}
