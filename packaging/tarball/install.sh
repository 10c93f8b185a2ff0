#!/bin/sh
# Installs Tangram from its unpacked archive: needs no package manager, only glibc 2.34, OpenSSL 3, libsystemd and
# ncurses 6. Run it again from the archive of another version to upgrade: jobs, leases and services keep running.
set -eu
cd "$(dirname "$0")"
usage="usage: ./install.sh [--prefix DIR] [--enable]
Copy the programs to DIR (default: /opt/tangram). As root, also install the systemd units, the group tangram-admin and
/etc/tangram/tangram.toml (an existing one is kept), and restart a daemon that is running.
  --enable   start the daemon now and at boot, and back its store up daily
To remove Tangram: DIR/uninstall"
die() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

prefix=/opt/tangram enable=no
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) prefix=${2:-}; [ -n "$prefix" ] || die "--prefix needs a folder"; shift ;;
    --enable) enable=yes ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) printf 'install.sh: unknown argument: %s\n%s\n' "$1" "$usage" >&2; exit 2 ;;
  esac
  shift
done
case $prefix in
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac
root=$([ "$(id -u)" -ne 0 ] || echo yes)
systemd=$([ -z "$root" ] || [ ! -d /run/systemd/system ] || echo yes)
[ -z "$systemd" ] || [ ! -x /usr/bin/tangramd ] ||
  die "the package tangram is installed here; remove it first (apt remove tangram; jobs keep running)"
./bin/tangram --version >/dev/null || die "this system is too old, or a library is missing (see above)"

# Fills in the paths of a template.
fill() {
  sed -i -e "s#@bindir@#$prefix/bin#g" -e "s#@libexecdir@#$prefix/libexec#g" -e "s#@datadir@#$prefix/share#g" "$1"
}

# Each file is replaced in one step: a running daemon finds either the old or the new one.
copied=0
while IFS= read -r file; do
  target=$prefix/$file
  mkdir -p "$(dirname "$target")"
  cp -p "$file" "$target.new"
  case $file in
    lib/systemd/system/* | share/man/man8/* | libexec/tangram/drain-node) fill "$target.new" ;;
  esac
  mv -f "$target.new" "$target"
  copied=$((copied + 1))
done <share/tangram/manifest
cp share/tangram/manifest "$prefix/share/tangram/manifest"
echo "install.sh: $copied files in $prefix"

if [ -n "$root" ]; then
  if [ ! -e /etc/tangram/tangram.toml ]; then
    mkdir -p /etc/tangram
    sed 's/^admins = ""/admins = "tangram-admin"/' "$prefix/share/tangram/tangram.toml" >/etc/tangram/tangram.toml
  fi
  getent group tangram-admin >/dev/null || groupadd --system tangram-admin
  mkdir -p /var/backups/tangram
  chmod 700 /var/backups/tangram
fi
if [ -n "$systemd" ]; then
  mkdir -p /etc/tmpfiles.d
  cp "$prefix/lib/tmpfiles.d/tangram.conf" /etc/tmpfiles.d/tangram.conf
  for unit in "$prefix"/lib/systemd/system/tangram*; do
    ln -sfn "$unit" "/etc/systemd/system/${unit##*/}"
  done
  systemctl daemon-reload
  "$prefix/bin/tangramd" --check-config >/dev/null ||
    die "the configuration is not valid for this version; a running daemon was not restarted. Edit the file, then: systemctl restart tangramd"
  systemctl try-restart tangramd
  if [ "$enable" = yes ]; then
    systemctl enable --now tangramd.service tangram-backup.timer
  fi
fi
echo "install.sh: done. Put $prefix/bin into PATH."
[ -z "$systemd" ] || [ "$enable" = yes ] ||
  echo "install.sh: start: systemctl enable --now tangramd tangram-backup.timer"
