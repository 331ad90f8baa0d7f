#!/usr/bin/env bash
# Builds a directory with a minimal Debian system and some of its packages:
#
#     debian_root.sh SUITE DIRECTORY PACKAGE...
#
# Exits with 3 and the reason if this machine cannot build it, with 1 if the build failed. Does nothing if the directory
# exists. It appears when it is complete. Needs root; packages come from the Debian mirror that apt is configured with.
# No service is started. The log is DIRECTORY.log.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
suite=$1 root=$2
shift 2
if [ -d "$root" ]; then exit 0; fi

unable() { echo "$1" >&2; exit 3; }

[ "$(id -u)" -eq 0 ] || unable "building the directory $root needs root"
command -v apt-get >/dev/null || unable "building the directory $root needs Debian's apt-get"
unshare --mount true 2>/dev/null || unable "building the directory $root needs mount namespaces"
# In a mount namespace of its own: debootstrap's mounts vanish with it, even if it is killed.
if [ -z "${CAUCE_BUILDS_ROOT:-}" ]; then CAUCE_BUILDS_ROOT=1 exec unshare --mount "$0" "$suite" "$root" "$@"; fi
mkdir -p "$(dirname "$root")"

# A second builder waits for the first one and then uses its result.
exec 9>"$root.lock"
flock 9
if [ -d "$root" ]; then exit 0; fi

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

build() {
    debootstrap --variant=minbase "$suite" "$building" "$mirror"
    # Every package asks it before it starts a service: 101 means that none may be started.
    printf '#!/bin/sh\nexit 101\n' >"$building/usr/sbin/policy-rc.d"
    chmod 755 "$building/usr/sbin/policy-rc.d"
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$building" apt-get install -qq -y --no-install-recommends "$@"
    rm -rf "$building"/var/cache/apt/archives/*.deb "$building"/var/lib/apt/lists/*
}
# Its processes must not inherit the lock.
if ! build "$@" >"$log" 2>&1 </dev/null 9>&-; then
    tail -n 3 "$log" >&2
    echo "the build of the directory $root failed; the log is $log" >&2
    exit 1
fi
chmod 755 "$building"
umount -q "$building/proc" "$building/sys" 2>/dev/null || true
mv -T "$building" "$root"
