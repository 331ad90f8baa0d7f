#!/usr/bin/env bash
# Opens examples/tour.ipynb in JupyterLab: `scripts/notebook.sh`. Arguments are those of `jupyter`: `scripts/notebook.sh
# lab other.ipynb`, `scripts/notebook.sh nbconvert --execute --to html examples/tour.ipynb`. `--no-browser` and `--port` may
# be given alone.
#
# JupyterLab has an environment of its own in .cache/notebook, made from requirements-notebook.lock once for each content
# of the lock. The packages of `./cauce` and the sources are visible in it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/scripts/environment.sh" requirements.lock
jupyter=$root/.cache/notebook

set_up_jupyter() {
    local wanted
    wanted=$(cat "$root/requirements-notebook.lock" "$root/scripts/notebook.sh" | cksum; "$python" --version)
    [ "$(cat "$jupyter/.lock.sum" 2>/dev/null)" != "$wanted" ] || return 0
    echo "setting up $jupyter from requirements-notebook.lock (once; takes a minute)" >&2
    rm -rf "$jupyter"
    "$python" -m venv "$jupyter" || {
        echo "could not make a virtual environment; on Debian: apt-get install python3-venv" >&2
        exit 3
    }
    "$jupyter/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
        -r "$root/requirements-notebook.lock" >&2 || {
        echo "could not install what requirements-notebook.lock lists; check the network and run this again" >&2
        exit 3
    }
    "$jupyter/bin/python" - "$root/src" "$venv" <<'PYTHON'
import sys, sysconfig
from pathlib import Path
sources, environment = sys.argv[1:]
packages = sysconfig.get_path("purelib", vars={"base": environment})
Path(sysconfig.get_path("purelib"), "cauce.pth").write_text(f"{sources}\n{packages}\n")
PYTHON
    # JupyterLab neither asks whether it may fetch news, nor looks for a newer version.
    mkdir -p "$jupyter/share/jupyter/lab/settings"
    cat > "$jupyter/share/jupyter/lab/settings/overrides.json" <<'JSON'
{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}
JSON
    echo "$wanted" > "$jupyter/.lock.sum"
}

# One at a time, as in environment.sh.
mkdir -p "$root/.cache"
(
    if command -v flock >/dev/null 2>&1; then
        exec 8> "$root/.cache/notebook.lock"
        flock 8
    fi
    set_up_jupyter
) || exit
# With the whole project as its directory, so that links from the notebook to the documentation can be followed.
case "${1:-}" in
    "" | --no-browser | --port* | --allow-root)
        set -- lab --notebook-dir="$root" --LabApp.default_url=/lab/tree/examples/tour.ipynb "$@"
        # In a container one usually is root, and JupyterLab would refuse to start.
        [ "$(id -u)" -ne 0 ] || set -- "$@" --allow-root
        ;;
esac
exec "$jupyter/bin/python" -m jupyter "$@"
