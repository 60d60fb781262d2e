#!/usr/bin/env bash
# Checks the files in infra/ with the tools of their formats. `make setup` installs those that Debian and PyPI have;
# Terraform and systemd are used where the machine has them, and named where it has not.
set -euo pipefail
cd "$(dirname "$0")/../infra"

TOOLS=${WEIR_TOOLS:-$PWD/../.tools}
export PATH=$TOOLS/bin:$TOOLS/infra/bin:$PATH
have() { command -v "$1" >/dev/null 2>&1; }
checked() { printf 'infra: %s\n' "$*"; }

python3 cloudformation/generate.py --check
cfn-lint cloudformation/weir.json
checked "cloudformation/weir.json is valid and up to date"

hadolint docker/Dockerfile
checked "docker/Dockerfile"

promtool check rules prometheus/alerts.yml
(cd prometheus && promtool test rules alerts.test.yml)
promtool check config --syntax-only prometheus/prometheus.yml
checked "alerts and their tests"

if have terraform; then
    terraform -chdir=terraform fmt -check -diff
    checked "format of terraform/"
else
    checked "terraform/ is NOT checked: there is no terraform"
fi

if have systemd-analyze; then
    unit=$(mktemp --suffix .service)
    trap 'rm -f "$unit"' EXIT
    # The binary need not be installed.
    sed 's#/usr/bin/weir#/bin/true#' systemd/weir.service >"$unit"
    systemd-analyze verify "$unit"
    checked "systemd/weir.service"
else
    checked "systemd/weir.service is NOT checked: there is no systemd-analyze"
fi
