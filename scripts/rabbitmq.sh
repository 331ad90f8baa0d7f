#!/usr/bin/env bash
# Sees to it that the tests find RabbitMQ, in this order: an installed one of version 4 or newer; the one of Debian 13 in
# a directory of its own, which is built once; this machine's own package. Never starts a broker.
# Where nothing may be installed it says how; the tests that need RabbitMQ are then skipped, or fail where CI is set.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
cd "$(dirname "${BASH_SOURCE[0]}")/.."

is_installed() { command -v rabbitmq-server >/dev/null && command -v erl >/dev/null; }

if is_installed && compgen -G "/usr/lib/rabbitmq/lib/rabbitmq_server-[4-9]*" >/dev/null; then exit 0; fi

wanted=${CAUCE_RABBITMQ_VERSION:-4.0}
case $wanted in
    4.0 | 4.3)
        src/cauce/lab/broker/build_root.sh "$wanted" >/dev/null && exit 0
        # A machine that could build it and did not: continuous integration must not pass on an older version.
        if [ $? -ne 3 ] && [ -n "${CI:-}" ]; then exit 1; fi
        echo "the tests run on this machine's own RabbitMQ instead of $wanted" >&2
        ;;
esac

is_installed && exit 0
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
