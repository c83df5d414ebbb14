#!/bin/sh
# Installs Debian's Chromium for the browser tests when it is missing and we may.
for name in chromium chromium-browser google-chrome-stable google-chrome; do
    command -v $name > /dev/null && exit 0
done
if [ "$(id -u)" = 0 ]; then as_root=""
elif sudo -n true 2> /dev/null; then as_root="sudo -n"
fi
if [ -z "${as_root+set}" ] || ! command -v apt-get > /dev/null; then
    echo "The browser tests will be skipped: install Chromium (Debian: apt-get install chromium) to run them."
    exit 0
fi
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core > /dev/null
