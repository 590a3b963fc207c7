// Command providerschema prints the provider's schemas in the form of `terraform providers schema -json`, from which
// the documentation is generated.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/provider"
)

func main() {
	if err := provider.WriteSchemaJSON(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "provider schema:", err)
		os.Exit(1)
	}
}
