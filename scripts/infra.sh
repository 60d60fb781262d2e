#!/usr/bin/env bash
# Checks the files in infra/ with the tools of their formats. `make setup` installs those that Debian and PyPI have. Terraform,
# Helm, Docker Compose and systemd are used where the machine has them; without one, a line says what is NOT checked.
set -euo pipefail
cd "$(dirname "$0")/../infra"

TOOLS=${WEIR_TOOLS:-$PWD/../.tools}
export PATH=$TOOLS/bin:$TOOLS/infra/bin:$PATH
have() { command -v "$1" >/dev/null 2>&1; }
checked() { printf 'infra: %s\n' "$*"; }
die() { printf 'infra: error: %s\n' "$*" >&2; exit 1; }
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT

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
    cp -r terraform tables.json "$work/"
    if terraform -chdir="$work/terraform" init -backend=false -input=false >"$work/init.log" 2>&1; then
        terraform -chdir="$work/terraform" validate
        checked "terraform/ is valid"
    else
        checked "terraform/ is NOT validated: its provider cannot be downloaded"
    fi
else
    checked "terraform/ is NOT checked: there is no terraform"
fi

# render NAME ARGUMENT...: renders the chart for the oldest Kubernetes that it supports.
render() { helm template "$1" helm/weir --kube-version 1.27.0 "${@:2}" >"$work/$1.yaml" 2>"$work/$1.log" || { cat "$work/$1.log" >&2; return 1; }; }
# renders NAME TEXT...: the texts are in what was rendered.
renders() { local text; for text in "${@:2}"; do grep -qF -- "$text" "$work/$1.yaml" || die "the chart ($1) renders no $text"; done; }

if have helm; then
    helm lint helm/weir >"$work/lint.log" 2>&1 || { cat "$work/lint.log" >&2; exit 1; }
    render one --set ingress.enabled=true
    renders one "kind: StatefulSet" "kind: Ingress" "/readyz?store=ignore"
    render shared --set store.kind=dynamodb,store.region=eu-central-1,existingSecret=keys --set-string settings.WEIR_CACHE_BYTES=4294967296
    renders shared "kind: Deployment" "kind: PodDisruptionBudget" "/secrets/signing-key" '"4294967296"'
    render watched --set monitoring.enabled=true
    renders watched "kind: ServiceMonitor" "kind: PrometheusRule" "alert: WeirDown" "jobLabel: app.kubernetes.io/name"
    for wrong in store.kind=files store.kind=dynamodb settings.WEIR_CACHE_BYTES=4294967296; do
        if render wrong --set "$wrong" 2>/dev/null; then die "the chart accepts $wrong"; fi
    done
    checked "helm/weir is valid, and renders with both stores and with monitoring"
else
    checked "helm/weir is NOT checked: there is no helm"
fi

if docker compose version >/dev/null 2>&1; then
    docker compose --file docker/compose.yaml config --quiet
    checked "docker/compose.yaml"
else
    checked "docker/compose.yaml is NOT checked: there is no docker compose"
fi

if have systemd-analyze; then
    # The binary need not be installed.
    sed 's#/usr/bin/weir#/bin/true#' systemd/weir.service >"$work/weir.service"
    systemd-analyze verify "$work/weir.service"
    checked "systemd/weir.service"
else
    checked "systemd/weir.service is NOT checked: there is no systemd-analyze"
fi
