#!/usr/bin/env bash
# The whole product on real data, on this machine: 46 airlines declared as tenants, 10,000 wildlife strikes loaded, one
# airline moved to its own table with Terraform and one to a second account with tenantctl, everything verified.
# Starts a local table server on a free port and works in a temporary folder; both are gone at the end.
# With a folder as argument it works there and leaves the server's data and the Terraform state behind for a look.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=$root/bin

terraform=$("$root/tools/dev/terraform-cli.sh")
keep=${1:-}
if [ -n "$keep" ]; then
  mkdir -p "$keep"
  work=$(cd "$keep" && pwd)
else
  work=$(mktemp -d "${TMPDIR:-/tmp}/aztenancy-demo.XXXXXX")
fi
server=
cleanup() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  [ -n "$keep" ] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

step() { printf '\n== %s\n' "$*"; }

step "Start a table server with two accounts"
"$bin/tableserver" --listen 127.0.0.1:0 --data "$work/data" --account birdshome --account birdspremium \
  --print-connection-strings >"$work/server.out" 2>"$work/server.err" &
server=$!
connection_string() { sed -nE "s/^account name=$1 .*connection_string=(.*)$/\1/p" "$work/server.out"; }
for _ in $(seq 100); do
  [ -n "$(connection_string birdspremium)" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/server.err" >&2; exit 1; }
  sleep 0.1
done
grep '^listening ' "$work/server.out"

# Secrets reach Terraform through the environment and tenantctl through a file that only its owner can read: never
# through an argument, which every user of the machine could see.
TF_VAR_home=$(connection_string birdshome)
TF_VAR_premium=$(connection_string birdspremium)
export TF_VAR_home TF_VAR_premium TF_IN_AUTOMATION=1 CHECKPOINT_DISABLE=1
(umask 077 && cat >"$work/accounts.hcl" <<HCL
connection_string = "$TF_VAR_home"
accounts          = { premium = { connection_string = "$TF_VAR_premium" } }
HCL
)
tenantctl() { "$bin/tenantctl" "$@" --config "$work/accounts.hcl"; }
eval "$("$root/tools/dev/terraform-mirror.sh" "$work/terraform")"
cp "$here"/*.tf "$here/strikes.csv" "$work"
cd "$work"

step "Declare the airlines with $(basename "$terraform")"
"$terraform" init -input=false -no-color >init.log || { cat init.log >&2; exit 1; }
"$terraform" apply -input=false -auto-approve -no-color >apply.log || { cat apply.log >&2; exit 1; }
grep -E '^(Apply complete|airlines = )' apply.log

step "Load 10,000 strikes"
tenantctl import --file strikes.csv --table strikes --tenant-column "Aircraft Airline Operator"

step "Move US Airways to a table of its own: change its model in Terraform"
echo '{"isolation": {"military": "own-table", "us-airways": "own-table"}}' >moves.auto.tfvars.json
"$terraform" apply -input=false -auto-approve -no-color >move.log || { cat move.log >&2; exit 1; }
grep -E '^(Apply complete|aztenancy_tenant.*(Modifying|Modifications complete))' move.log

step "Move United Airlines to the second account: tenantctl"
tenantctl plan united-airlines --to own-account --account premium
tenantctl migrate united-airlines --to own-account --account premium

step "Verify both: every entity, every property, every type"
tenantctl verify us-airways
tenantctl verify united-airlines

step "Write the second move down in Terraform: no resource changes, and then nothing is left to change"
echo '{"isolation": {"military": "own-table", "us-airways": "own-table", "united-airlines": "own-account"}}' >moves.auto.tfvars.json
"$terraform" apply -input=false -auto-approve -no-color >known.log || { cat known.log >&2; exit 1; }
grep '^Apply complete' known.log
"$terraform" plan -input=false -detailed-exitcode -no-color >plan.log || { cat plan.log >&2; exit 1; }
grep '^No changes' plan.log

step "Who is where"
tenantctl tenants --count

if [ -n "$keep" ]; then
  printf '\nThe server stops now. Its data and the Terraform state are in %s.\n' "$work"
else
  printf '\nAll of this was temporary. To keep the data and the Terraform state for a look: examples/birdstrikes/demo.sh DIR\n'
fi
