#!/bin/sh
# Installs Debian's Node.js, which checks and builds the front end, when it is missing and we may.
command -v npm > /dev/null && exit 0
if [ "$(id -u)" = 0 ]; then as_root=""
elif sudo -n true 2> /dev/null; then as_root="sudo -n"
fi
if [ -z "${as_root+set}" ] || ! command -v apt-get > /dev/null; then
    echo "The front end is checked with Node.js 20 or later and npm: install both (Debian: apt-get install nodejs npm)." >&2
    exit 1
fi
$as_root apt-get update -qq
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends nodejs npm > /dev/null
