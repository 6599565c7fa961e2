#!/bin/bash
# Make .venv of this checkout hold exactly what a lock names, plus the project itself (editable).
#
#   .ci/setup.sh          the service and the command   (requirements.lock)
#   .ci/setup.sh dev      and the tools to work on them (requirements-dev.lock)
#
# PYTHON names the interpreter, CC the C compiler. Does nothing when nothing changed. Whatever is missing is said
# in one line on stderr; what pip and the compiler print goes to .venv/setup.log.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv
log=$venv/setup.log
export CC=${CC:-cc}
export PIP_CONSTRAINT=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1 # the lock alone decides versions

fail() {
    echo "setup: $*" >&2
    exit 1
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# What tells two interpreters, and so two environments, apart.
identity() {
    "$1" -c 'import sys; print(sys.version, sys.base_prefix)' 2>/dev/null
}

# The one asked for, else the one .venv already has, else the first that truly runs (a pyenv shim may not).
choose_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        new_enough "$PYTHON" || fail "PYTHON=$PYTHON does not run or is older than 3.11; name a newer one: make setup PYTHON=python3.13"
        echo "$PYTHON"
        return
    fi
    for candidate in $(has_environment && echo "$venv/bin/python") python3.13 python3.12 python3.11 python3; do
        if new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer found: install one (Debian, Ubuntu: apt install python3 python3-venv python3-dev)" \
        "or name one: make setup PYTHON=/path/to/python3.13"
}

# An environment knows its own path by heart, so one that came along with a copied checkout does not count.
has_environment() {
    [ "$(cat "$venv/.made-at" 2>/dev/null)" = "$PWD" ]
}

up_to_date() { # $1: a lock
    [ "$(cat "$(stamp "$1")" 2>/dev/null)" = "$(fingerprint "$1")" ]
}

stamp() {
    echo "$venv/.$1.stamp"
}

fingerprint() {
    { echo "$PWD" && identity "$python" && cat "$1" pyproject.toml .ci/setup.sh; } | cksum
}

check_tools() {
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "$python has no venv module: install it (Debian, Ubuntu: apt install python3-venv)"
    command -v "${CC%% *}" >/dev/null ||
        fail "no C compiler ($CC), durable-rules has to be built: install one (Debian, Ubuntu: apt install gcc libc6-dev)"
    echo '#include <stdio.h>' | $CC -x c -fsyntax-only - 2>/dev/null ||
        fail "$CC finds no C library headers: install them (Debian, Ubuntu: apt install libc6-dev)"
    [ -f "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] ||
        fail "$python has no Python.h, durable-rules has to be built: install it (Debian, Ubuntu: apt install python3-dev)"
}

step() { # $1: what is done; the rest: the command that does it
    local title=$1
    shift
    echo "setup: $title"
    echo "== $title" >>"$log"
    "$@" >>"$log" 2>&1 || fail "$title: $(reason) (all of it: $log)"
}

# The last error in the log, but a broken connection before what pip concludes from it ("no matching version").
reason() {
    { grep -o 'connection broken by.*' "$log" || grep -i error "$log" || tail -n 1 "$log"; } | tail -n 1 | cut -c1-300
}

create_environment() {
    rm -f "$venv/.made-at"
    "$python" -m venv --clear "$venv" >/dev/null || fail "cannot create $venv with $python"
    echo "$PWD" >"$venv/.made-at"
}

pip_install() {
    "$venv/bin/python" -m pip install --quiet --no-deps "$@"
}

durable_rules_works() {
    "$venv/bin/python" -c 'import durable_rules_engine' 2>/dev/null
}

# The lock without (! in $2) or with nothing but durable-rules, which needs the build tools of the rest in place first.
part() {
    awk "/^[a-z]/ { wanted = $2 /^durable-rules==/ } wanted" "$1" >"$venv/.part.lock"
    echo "$venv/.part.lock"
}

# The flag: Python 3.13 dropped PyEval_CallObject, which durable-rules 2.0.28 calls (its setup.py overwrites CFLAGS).
# No cache: pip would take a wheel that was once built without the flag, whose import fails.
install_durable_rules() {
    durable_rules_works || "$venv/bin/python" -m pip uninstall --quiet --yes durable-rules
    CPPFLAGS=-DPyEval_CallObject=PyObject_CallObject pip_install --require-hashes --no-cache-dir \
        --no-build-isolation --no-binary durable-rules -r "$(part "$lock" '')"
}

case ${1:-} in
'') lock=requirements.lock ;;
dev) lock=requirements-dev.lock ;;
*) fail "unknown argument '$1': give nothing or dev" ;;
esac
python=$(choose_python)

if has_environment && [ "$(identity "$python")" = "$(identity "$venv/bin/python")" ]; then
    # The development environment holds the whole runtime lock, so it serves a plain setup too.
    if up_to_date "$lock" || { [ "$lock" = requirements.lock ] && up_to_date requirements-dev.lock; }; then
        exit 0
    fi
    check_tools
else
    check_tools
    echo "setup: $venv with $("$python" --version)"
    create_environment
fi
: >"$log"
step "packages of $lock" pip_install --require-hashes --only-binary :all: -r "$(part "$lock" '!')"
step "durable-rules (compiles C, takes a moment)" install_durable_rules
durable_rules_works ||
    fail "durable-rules was built, but does not import with $("$python" --version); take one that is known to work:" \
        "make clean setup PYTHON=python3.12 (or python3.11, python3.13)"
step "traintriage itself" pip_install --no-build-isolation --editable .
step "check of the lock against pyproject.toml" "$venv/bin/python" -m pip check
fingerprint "$lock" >"$(stamp "$lock")"
echo "setup: ready, $venv/bin/traintriage"
