#!/usr/bin/env bash
# generate-docs.sh [--check] DIR: renders the registry documentation from the provider's schemas, templates/ and
# examples/ into DIR (relative to the repository). With --check, changes nothing and fails when DIR is out of date.
# The schemas come from the provider itself, so no Terraform is needed.
set -euo pipefail
cd "$(dirname "$0")/../.."
check=
[ "${1:-}" != --check ] || { check=yes; shift; }
[ $# -eq 1 ] || { echo "usage: $0 [--check] DIR" >&2; exit 2; }
docs=$1
into=$docs
[ -z "$check" ] || into=.cache/docs
rm -rf "$into"
mkdir -p .cache "$into"
go run ./tools/providerschema >.cache/schema.json
.cache/bin/tfplugindocs generate --provider-name aztenancy --rendered-provider-name aztenancy \
  --providers-schema .cache/schema.json --rendered-website-dir "$into" >.cache/tfplugindocs.log 2>&1 ||
  { cat .cache/tfplugindocs.log >&2; exit 1; }
# A measurement, which only a new measurement changes (make bench-server).
[ ! -f templates/benchmarks.md ] || cp templates/benchmarks.md "$into/"
[ -z "$check" ] || diff -r "$docs" "$into" ||
  { echo "$docs is not what the schemas, templates and examples say: run 'make generate' and commit it" >&2; exit 1; }
