#!/usr/bin/env bash
# Builds a directory with the RabbitMQ of another Debian release, so that a machine can run a version that its own
# release does not package:
#
#     build_root.sh 4.0     Debian 13 (trixie)
#     build_root.sh 4.3     Debian unstable (sid), whose version moves
#
# Prints the directory. Exits with 3 and the reason if this machine cannot build it, with 1 if the build failed.
# `cauce broker start --version` and the tests run nodes from it; their processes see its /usr instead of that of the
# machine. It is built once, needs root and three to four minutes, and takes 0.4 GB. The build starts no service:
# debian_root.sh does it.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

case "${1:-}" in
    4.0) suite=trixie ;;
    4.3) suite=sid ;;
    *) echo "unknown version ${1:-}; expected 4.0 or 4.3" >&2; exit 2 ;;
esac
version=$1
# The same rule as in releases.py.
if [ -n "${CAUCE_CACHE:-}" ]; then cache=$CAUCE_CACHE
elif [ "$(id -u)" -eq 0 ]; then cache=/var/cache/cauce
else cache=${XDG_CACHE_HOME:-$HOME/.cache}/cauce; fi
root=$cache/rabbitmq-$version

if [ -d "$root" ]; then echo "$root"; exit 0; fi

mkdir -p "$cache" 2>/dev/null || { echo "RabbitMQ $version: building its directory $root needs root" >&2; exit 3; }
# A second builder waits for the first one and then uses its result.
exec 9>"$root.lock"
flock 9
if [ -d "$root" ]; then echo "$root"; exit 0; fi

echo "building RabbitMQ $version from Debian $suite in $root (once, three to four minutes)" >&2
system=$root.system
"$(dirname "$0")/debian_root.sh" "$suite" "$system" rabbitmq-server 9>&-
if ! compgen -G "$system/usr/lib/rabbitmq/lib/rabbitmq_server-$version.*" >/dev/null; then
    echo "RabbitMQ $version: Debian $suite now has another one: $(ls "$system/usr/lib/rabbitmq/lib")" >&2
    rm -rf --one-file-system "$system"
    exit 1
fi
mv -T "$system" "$root"
echo "$root"
