#!/usr/bin/env bash
# Sees to it that the tests find RabbitMQ: installs Debian's package where it may, and never starts a broker with it.
# Where it may not, it says how; the tests that need it are then skipped, or fail where CI is set.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

command -v rabbitmq-server >/dev/null && command -v erl >/dev/null && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "RabbitMQ is not installed: tests that need it are left out. On Debian: apt-get install rabbitmq-server" >&2
    exit 0
fi

# Asked by every package that is being installed: 101 means that no service may be started.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends rabbitmq-server >/dev/null
}

echo "installing RabbitMQ for the tests (once)" >&2
if ! install 2>/dev/null && ! { apt-get update -qq && install; }; then
    echo "could not install RabbitMQ: tests that need it are left out. Try: apt-get install rabbitmq-server" >&2
    exit 0
fi
# Nor at the next start of the machine.
if [ -d /run/systemd/system ]; then
    systemctl disable --quiet rabbitmq-server epmd.socket epmd.service 2>/dev/null || true
fi
