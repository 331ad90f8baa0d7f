#!/usr/bin/env bash
# Builds the wheel, with the compiled kernels and the bill of materials: `scripts/wheel.sh [DIRECTORY]`, by default dist.
# The last line on standard output is its path. The same sources give the same bytes.
#
# Needs the linker ld and nm, of binutils. The compiler is that of `./cauce`, from requirements.lock; the builder has an environment of its
# own in .cache/build, made from requirements-build.lock once for each content of the lock.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=$(realpath -m "${1:-$root/dist}")
source "$root/scripts/environment.sh" requirements.lock
builder=$root/.cache/build

set_up_builder() {
    local wanted
    wanted=$(cat "$root/requirements-build.lock" "$root/scripts/wheel.sh" | cksum)
    [ "$(cat "$builder/.lock.sum" 2>/dev/null)" != "$wanted" ] || return 0
    echo "setting up $builder from requirements-build.lock (once)" >&2
    rm -rf "$builder"
    "$(find_python)" -m venv "$builder" || {
        echo "could not make a virtual environment; on Debian: apt-get install python3-venv" >&2
        exit 3
    }
    "$builder/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
        --target "$builder/packages" -r "$root/requirements-build.lock" >&2 || {
        echo "could not install what requirements-build.lock lists; check the network and run this again" >&2
        exit 3
    }
    echo "$wanted" > "$builder/.lock.sum"
}

# One at a time, as in environment.sh.
mkdir -p "$root/.cache"
exec 8> "$root/.cache/build.lock"
if command -v flock >/dev/null 2>&1; then flock 8; fi
set_up_builder

cd "$root"
# The default of the builder, unless the caller knows the time of the release.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1580601600}
PYTHONPATH=$builder/packages${PYTHONPATH:+:$PYTHONPATH} "$python" -m hatchling build --target wheel --directory "$target" >&2
ls -t "$target"/cauce-*.whl | head -n 1
