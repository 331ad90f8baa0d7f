#!/usr/bin/env bash
# Builds a directory with the RabbitMQ of another Debian release, so that a machine can run a version that its own
# release does not package:
#
#     build_root.sh 4.0     Debian 13 (trixie)
#     build_root.sh 4.3     Debian unstable (sid), whose version moves
#
# Prints the directory. Exits with 3 and the reason if this machine cannot build it, with 1 if the build failed.
# `cauce broker start --version` and the tests run nodes from it; their processes see its /usr instead of that of the
# machine. It is built once, needs root and three to four minutes, and takes 0.4 GB. The build starts no service.
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

unable() { echo "RabbitMQ $version: $1" >&2; exit 3; }
failed() { echo "RabbitMQ $version: $1" >&2; exit 1; }

[ "$(id -u)" -eq 0 ] || unable "building its directory $root needs root"
command -v apt-get >/dev/null || unable "building its directory $root needs Debian's apt-get"
unshare --mount true 2>/dev/null || unable "running it needs mount namespaces, which this machine does not allow"
# In a mount namespace of its own: debootstrap's mounts vanish with it, even if it is killed.
if [ -z "${CAUCE_BUILDS_ROOT:-}" ]; then CAUCE_BUILDS_ROOT=1 exec unshare --mount "$0" "$@"; fi
mkdir -p "$cache"

# A second builder waits for the first one and then uses its result.
exec 9>"$root.lock"
flock 9
if [ -d "$root" ]; then echo "$root"; exit 0; fi

if ! command -v debootstrap >/dev/null; then
    install() { DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends debootstrap >/dev/null 9>&-; }
    install 2>/dev/null || { apt-get update -qq 9>&- && install; } || unable "could not install debootstrap"
fi

# The mirror of this machine: the first configured source with Debian's main archive.
mirrors() { apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Created-By: Packages' | awk '$2 == "Debian" { print $1 }'; }
if [ -z "$(mirrors)" ]; then apt-get update -qq 9>&- || true; fi
mirror=$(mirrors | head -n 1)
[ -n "$mirror" ] || unable "the sources of apt name no mirror of Debian"
proxy=
eval "$(apt-config shell proxy Acquire::http::Proxy)"
if [ -n "$proxy" ] && [ "$proxy" != DIRECT ]; then export http_proxy=$proxy; fi

command -v wget >/dev/null || unable "debootstrap needs wget"
wget -q --spider --tries=2 --timeout=20 "${mirror%/}/dists/$suite/Release" 9>&- ||
    unable "the mirror of this machine cannot be reached or has no suite $suite"

# Leftovers of a builder that was killed; none is in use while we hold the lock.
rm -rf --one-file-system "$root.partial."*
building=$(mktemp -d "$root.partial.XXXXXX")
log=$root.log
trap 'umount -q "$building/proc" "$building/sys" 2>/dev/null || true; rm -rf --one-file-system "$building"' EXIT

echo "building RabbitMQ $version from Debian $suite in $root (once, three to four minutes)" >&2
build() {
    debootstrap --variant=minbase "$suite" "$building" "$mirror"
    # Every package asks it before it starts a service: 101 means that none may be started.
    printf '#!/bin/sh\nexit 101\n' >"$building/usr/sbin/policy-rc.d"
    chmod 755 "$building/usr/sbin/policy-rc.d"
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$building" \
        apt-get install -qq -y --no-install-recommends rabbitmq-server
    rm -rf "$building"/var/cache/apt/archives/*.deb "$building"/var/lib/apt/lists/*
}
# Its processes must not inherit the lock.
if ! build >"$log" 2>&1 </dev/null 9>&-; then
    tail -n 3 "$log" >&2
    failed "the build of its directory failed; the log is $log"
fi
if ! compgen -G "$building/usr/lib/rabbitmq/lib/rabbitmq_server-$version.*" >/dev/null; then
    failed "Debian $suite now has another one: $(ls "$building/usr/lib/rabbitmq/lib")"
fi
chmod 755 "$building"
umount -q "$building/proc" "$building/sys" 2>/dev/null || true
mv -T "$building" "$root"
echo "$root"
