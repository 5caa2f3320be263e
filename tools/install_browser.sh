#!/usr/bin/env bash
# Installs Debian's chromium, which the browser tests drive, where it is missing. Playwright, which
# drives it, is one of requirements-dev.txt; its own browsers are not downloaded.
set -euo pipefail

fail() {
  echo "test-browser: FAILED: $1" >&2
  exit 1
}

command -v chromium >/dev/null && exit
command -v apt-get >/dev/null || fail "install chromium: it is missing, and there is no apt-get"
[[ $(id -u) -eq 0 ]] || fail "install chromium as root: apt-get install chromium"
retries=(-o Acquire::Retries=3)
apt-get "${retries[@]}" update -qq || fail "apt-get update failed, see above; chromium is missing"
apt-cache show chromium >/dev/null 2>&1 || fail "the package sources of apt have no chromium"
echo "test-browser: installing chromium"
DEBIAN_FRONTEND=noninteractive apt-get "${retries[@]}" install -y -qq --no-install-recommends \
  chromium fonts-dejavu-core || fail "apt-get install chromium failed, see above"
command -v chromium >/dev/null || fail "apt-get installed chromium, but PATH has no chromium"
