#!/bin/sh
# install_package.sh COMMANDS PACKAGES WITHOUT: installs Debian's PACKAGES when none of COMMANDS is
# there and we may, else says what it is like WITHOUT them.
for name in $1; do
    command -v "$name" > /dev/null && exit 0
done
if [ "$(id -u)" = 0 ]; then as_root=""
elif sudo -n true 2> /dev/null; then as_root="sudo -n"
fi
if [ -z "${as_root+set}" ] || ! command -v apt-get > /dev/null; then
    echo "$3 (Debian: apt-get install $2)."
    exit 0
fi
$as_root apt-get update -qq
# shellcheck disable=SC2086  # several packages
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $2 > /dev/null
