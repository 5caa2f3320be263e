#!/usr/bin/env bash
# Installs what the browser tests need, once: Debian's chromium, and Playwright, which drives it,
# into the active environment. Playwright's own browsers are not downloaded.
set -euo pipefail

if ! command -v chromium >/dev/null; then
  if [[ $(id -u) -ne 0 ]]; then
    echo "test-browser: install chromium as root: apt-get install chromium" >&2
    exit 1
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    chromium fonts-dejavu-core
fi
python -c 'import playwright' 2>/dev/null ||
  python -m pip --disable-pip-version-check install --quiet 'playwright>=1.50,<2'
