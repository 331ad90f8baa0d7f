#!/usr/bin/env bash
# Sees to it that the tests find a browser: installs Debian's Chromium where it may.
# Where it may not, it says how; the tests that need it are then skipped, or fail where CI is set.
set -euo pipefail

for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Chromium is not installed: tests in a browser are left out. On Debian: apt-get install chromium-headless-shell" >&2
    exit 0
fi

install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium-headless-shell >/dev/null
}

echo "installing Chromium for the tests (once)" >&2
if ! install 2>/dev/null && ! { apt-get update -qq && install; }; then
    echo "could not install Chromium: tests in a browser are left out. Try: apt-get install chromium-headless-shell" >&2
fi
