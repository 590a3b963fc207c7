#!/usr/bin/env bash
# terraform-mirror.sh DIR: puts the built provider into a filesystem mirror below DIR and writes DIR/terraform.rc, a CLI
# configuration that knows this mirror alone. All paths are absolute. Prints the line that makes a shell use it.
# The provider's address "aztenancy/aztenancy" resolves for Terraform and for OpenTofu, each with its own default host.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
binary=$root/bin/terraform-provider-aztenancy
[ -x "$binary" ] || { echo "$binary is not built: run 'make build' first" >&2; exit 1; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
version=$(sed -nE 's/^VERSION +:= //p' "$root/GNUmakefile")
platform=$(go env GOOS)_$(go env GOARCH)
for host in registry.terraform.io registry.opentofu.org; do
  place=$dir/mirror/$host/aztenancy/aztenancy/$version/$platform
  mkdir -p "$place"
  cp -f "$binary" "$place/terraform-provider-aztenancy_v$version"
done
cat > "$dir/terraform.rc" <<RC
disable_checkpoint = true
provider_installation {
  filesystem_mirror {
    path = "$dir/mirror"
  }
}
RC
echo "export TF_CLI_CONFIG_FILE=$dir/terraform.rc"
