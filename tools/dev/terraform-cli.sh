#!/usr/bin/env bash
# Prints the path of the Terraform CLI to use: $TF_BIN, or terraform >= 1.11 or tofu >= 1.11 from PATH, or the
# OpenTofu built earlier; where there is none, builds OpenTofu through the Go module proxy, once.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
unset TF_CLI_CONFIG_FILE # the inherited value may name a file that is not there

new_enough() { # PATH: is this CLI 1.11 or newer?
  local version major minor
  version=$("$1" version 2>/dev/null | sed -nE '1s/^(Terraform|OpenTofu) v([0-9]+)\.([0-9]+).*/\2 \3/p')
  [ -n "$version" ] || return 1
  read -r major minor <<<"$version"
  [ "$major" -gt 1 ] || { [ "$major" -eq 1 ] && [ "$minor" -ge 11 ]; }
}

if [ -n "${TF_BIN:-}" ]; then
  new_enough "$TF_BIN" || { echo "TF_BIN=$TF_BIN is not a Terraform or OpenTofu of version 1.11 or newer" >&2; exit 1; }
  echo "$TF_BIN"
  exit
fi
for name in terraform tofu; do
  if path=$(command -v "$name") && new_enough "$path"; then
    echo "$path"
    exit
  fi
done
tofu=$root/.cache/bin/tofu
if [ ! -x "$tofu" ]; then
  echo "Neither terraform nor tofu (1.11 or newer) is on PATH: building OpenTofu once from the Go module proxy, 6 to 12 minutes." >&2
  make -C "$root" --no-print-directory tofu >&2
fi
echo "$tofu"
