# Makes the virtual environment that `./cauce` and `./test` run in, from a lock file, once for each content of the lock.
# Sourced with the name of the lock file; sets $python. Says what to do where it cannot.
#
# .venv may be a link to the environment of another clone. Its packages are then used with the sources of this clone, and
# nothing in it is changed.

lock=$1
root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
venv=$root/.venv
stamp=$venv/.$lock.sum

find_python() {
    local candidate
    for candidate in "${CAUCE_PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "cauce needs Python 3.11 or newer; install one, or name it: CAUCE_PYTHON=/path/to/python3 $0" >&2
    exit 1
}

sum_of() {
    cat "$root/$1" "$root/scripts/environment.sh" | cksum
}

# Sets $sources to the directory that the environment imports Cauce from; empty if there is none.
read_sources() {
    local file
    sources=
    for file in "$venv"/lib/python*/site-packages/cauce.pth; do
        [ ! -r "$file" ] || read -r sources < "$file" || true
    done
}

# Whether the environment is that of another clone.
is_foreign() {
    [ -L "$venv" ] && read_sources && [ "$sources" != "$root/src" ] && [ -d "$sources" ]
}

use_own_sources() {
    read_sources
    [ "$sources" = "$root/src" ] || "$venv/bin/python" - "$root/src" <<'PYTHON'
import sys, sysconfig
from pathlib import Path
Path(sysconfig.get_path("purelib"), "cauce.pth").write_text(sys.argv[1] + "\n")
PYTHON
}

make_environment() {
    local base other
    if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$(sum_of "$lock")" ]; then
        if ! is_foreign; then
            use_own_sources
            # A lock that was written again with the same content needs no second look.
            touch "$stamp"
        fi
        return
    fi
    if is_foreign; then
        echo "$venv is a link to the environment of ${sources%/src}, which was not made from this $lock; remove the" \
            "link and run this again to set up an environment here" >&2
        exit 1
    fi
    base=$(find_python) || exit 1
    echo "setting up $venv from $lock (once; takes a minute)" >&2
    if ! "$venv/bin/python" -c '' 2>/dev/null; then
        rm -rf "$venv"
        "$base" -m venv "$venv" || {
            echo "could not make a virtual environment; on Debian: apt-get install python3-venv" >&2
            exit 1
        }
    fi
    # Python brings a pip with it, so this needs no network.
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip >/dev/null || {
        echo "could not put pip into $venv; on Debian: apt-get install python3-venv" >&2
        exit 1
    }
    # Nothing is built here, but for PySpark: it comes as source alone, and has nothing to compile.
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        --only-binary :all: --no-binary pyspark -r "$root/$lock" >&2 || {
        echo "could not install what $lock lists; check the network and run this again" >&2
        exit 1
    }
    use_own_sources
    # Compile the kernels now, so that no run has to wait for it.
    "$venv/bin/python" -c "from cauce.scan.warm_up import compile_kernels; compile_kernels()" >&2
    # Not in the locks, and so never brought up to date: they do not stay.
    "$venv/bin/python" -m pip uninstall --quiet --yes pip setuptools >/dev/null 2>&1 || {
        echo "could not remove pip and setuptools from $venv; remove $venv and run this again" >&2
        exit 1
    }
    # A lock that this one contains whole is installed as well: after `./test`, `./cauce` installs nothing.
    for other in "$root"/requirements*.lock; do
        other=$(basename "$other")
        if ! grep -Fxvq -f "$root/$lock" "$root/$other"; then sum_of "$other" > "$venv/.$other.sum"; fi
    done
}

# Whether the environment is this clone's own and was made after the last change of the lock. Starts no process.
is_current() {
    [ ! -L "$venv" ] && [ -x "$venv/bin/python" ] && [ "$stamp" -nt "$root/$lock" ] &&
        [ "$stamp" -nt "$root/scripts/environment.sh" ] && read_sources && [ "$sources" = "$root/src" ]
}

is_current || (
    # One at a time: two commands started together would install over each other.
    if command -v flock >/dev/null 2>&1; then
        exec 9> "$root/.venv.lock"
        flock 9
    fi
    make_environment
) || exit 1
python=$venv/bin/python
if is_foreign; then export PYTHONPATH=$root/src${PYTHONPATH:+:$PYTHONPATH}; fi
# Every process that Cauce starts would compile all its sources again.
unset PYTHONDONTWRITEBYTECODE
