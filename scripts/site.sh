#!/usr/bin/env bash
# Builds the documentation as a searchable site: `scripts/site.sh [DIRECTORY]`, by default out/site.
#
# Its generator has an environment of its own in .cache/site, made from requirements-docs.lock once for each content of
# the lock. The reference of the Python API is written by scripts/reference.py in the environment of `./cauce`. The site
# fetches nothing from elsewhere: the library that draws diagrams, which the theme would fetch, is in the lock too.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=$(realpath -m "${1:-$root/out/site}")
source "$root/scripts/environment.sh" requirements.lock
generator=$root/.cache/site

# Marks a directory that this script has written, and may replace.
mark=.cauce-site
if [ -n "$(ls -A "$target" 2>/dev/null)" ] && [ ! -e "$target/$mark" ]; then
    echo "$target is not empty and was not written by $0; choose another directory" >&2
    exit 1
fi

set_up_generator() {
    local wanted
    wanted=$(cat "$root/requirements-docs.lock" "$root/scripts/site.sh" | cksum)
    [ "$(cat "$generator/.lock.sum" 2>/dev/null)" != "$wanted" ] || return 0
    echo "setting up $generator from requirements-docs.lock (once)" >&2
    rm -rf "$generator"
    mkdir -p "$root/.cache"
    "$(find_python)" -m venv "$generator" || {
        echo "could not make a virtual environment; on Debian: apt-get install python3-venv" >&2
        exit 3
    }
    "$generator/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
        --no-deps -r "$root/requirements-docs.lock" >&2 || {
        echo "could not install what requirements-docs.lock lists; check the network and run this again" >&2
        exit 3
    }
    echo "$wanted" > "$generator/.lock.sum"
}

# One at a time, as in environment.sh.
mkdir -p "$root/.cache"
exec 8> "$root/.cache/site.lock"
if command -v flock >/dev/null 2>&1; then flock 8; fi
set_up_generator

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir "$build/pages"
cp "$root/zensical.toml" "$build"
# The same places as in the project, so that links between pages stay as they are.
cp -r "$root"/*.md "$root/LICENSE" "$root/docs" "$root/examples" "$build/pages"
find "$build/pages" -name __pycache__ -prune -exec rm -rf {} +
"$python" "$root/scripts/reference.py" "$build/pages/docs/reference"
(cd "$build" && "$generator/bin/zensical" build --clean --strict >&2)

"$generator/bin/python" "$root/scripts/site_pages.py" "$build/site"

touch "$build/site/$mark"
rm -rf "$target"
mkdir -p "$(dirname "$target")"
# Made by mktemp for its owner alone.
chmod 755 "$build/site"
cp -r "$build/site" "$target"
echo "wrote $target/index.html"
