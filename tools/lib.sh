# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the scripts in tools/: messages, the list of packages, and the build.

tool=${0##*/}
root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd -P)

# Debian puts nginx and policy helpers into folders that an ordinary user's PATH lacks.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
# Perl, apt and PostgreSQL warn about locales that a small machine lacks.
export LC_ALL=C.UTF-8
unset LANGUAGE

# The packages of Debian 12 and 13, by use.  Most names have no version, so each release installs its
# own.  The scripts pick the lists that they need.
# shellcheck disable=SC2034
build_packages=(autoconf automake pkg-config gcc libc6-dev make
    libfcgi-dev libjson-c-dev libpq-dev libssl-dev libinih-dev libcurl4-openssl-dev check)
# shellcheck disable=SC2034
run_packages=(postgresql nginx curl openssh-client)
# shellcheck disable=SC2034
test_packages=(python3 openssh-client openssl iproute2 util-linux mount passwd procps
    mandoc groff-base
    apache2 apache2-suexec-custom libapache2-mod-fcgid lighttpd
    openssh-server login libnginx-mod-stream haproxy
    valgrind)
browser_packages=(chromium-headless-shell)
# Debian's nodejs and npm conflict with those of another source.
command -v npm >/dev/null || test_packages+=(nodejs npm)
test_packages+=(python3-yaml python3-jsonschema python3-psycopg2 "${browser_packages[@]}")
# Pages of doc/operate use these.
test_packages+=(prometheus jq git)
# Six machines of a cluster, for tools/check --long.  Patroni needs python3-idna for TLS.  On Debian 13,
# apt takes python3-consul for what it needs of python3-etcd.
# shellcheck disable=SC2034
cluster_packages=(patroni python3-etcd etcd-server etcd-client python3-idna nftables)
# Citus is built from its source.
# shellcheck disable=SC2034
citus_packages=(nftables postgresql-server-dev-all liblz4-dev libzstd-dev libkrb5-dev libpam0g-dev libselinux1-dev libssl-dev flex)
test_packages+=(systemd build-essential debhelper dpkg-dev fakeroot lintian)
# An edge to try: sshd, nginx, and an identity provider that is a mock.
# shellcheck disable=SC2034
edge_packages=(openssh-server openssh-client nginx curl openssl python3)
# These and npm make the page at /docs.
# shellcheck disable=SC2034
docs_packages=(python3 python3-yaml)
# shellcheck disable=SC2034
bench_packages=(python3 wrk iproute2 openssh-server login openssl libnginx-mod-stream)
# Both releases have LLVM 19.  Another version formats and finds differently.
# shellcheck disable=SC2034
analysis_packages=(clang-19 clang-format-19 clang-tidy-19 cppcheck shellcheck pyflakes3 python3)

say() {
    printf '%s: %s\n' "$tool" "$*" 2>/dev/null || die "cannot write to standard output"
}

warn() {
    printf '%s: %s\n' "$tool" "$*" >&2
}

die() {
    warn "$*"
    exit 1
}

# put_text: prints its standard input.
put_text() {
    cat 2>/dev/null || die "cannot write to standard output"
}

# put_exports NAME VALUE...: prints the lines of --env.
put_exports() {
    printf 'export %s=%q\n' "$@" 2>/dev/null || die "cannot write to standard output"
}

# show_log LOG: prints the last lines of a log and its path.
show_log() {
    [ -s "$1" ] || return 0
    tail -n 20 -- "$1" | awk '{ print "    " $0 }' >&2 # also ends a last line that has no end
    warn "the complete log is $1"
}

# step WHAT LOG COMMAND...: runs COMMAND with its output in LOG.  If COMMAND fails, ends the script.
step() {
    local what=$1 log=$2
    shift 2
    if ! "$@" >"$log" 2>&1 </dev/null; then
        warn "$what failed:"
        show_log "$log"
        exit 1
    fi
}

# Ends the script if autoconf and make cannot build in the clone's path.
check_root() {
    [[ ! $root =~ [^[:alnum:]/._+,@=~-] ]] ||
        die "cannot build in '$root': autoconf and make fail on blanks, quotes and the like in a path;" \
            "move the clone to a path with only letters, digits and / . _ + , @ = ~ -"
}

# postgres_programs [DATA]: prints the folder of PostgreSQL's programs.  The version is the one that
# made the cluster DATA.  Without a cluster it is the newest.
postgres_programs() {
    local version='*' program
    [ ! -e "${1-}/PG_VERSION" ] || version=$(cat "$1/PG_VERSION")
    # shellcheck disable=SC2086  # a pattern
    program=$(printf '%s\n' /usr/lib/postgresql/$version/bin/initdb | sort -V | tail -n 1)
    [ -x "$program" ] || return 1
    printf '%s\n' "${program%/initdb}"
}

missing_packages() {
    local have package
    # dpkg-query fails if it does not know a package, but prints the others.
    # shellcheck disable=SC2016  # ${...} is dpkg-query's
    have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null) || true
    for package; do
        case $'\n'$have$'\n' in
        *$'\n'"$package installed"$'\n'*) ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# Runs as root, perhaps in a shell of its own, so it uses only its arguments.
install_packages() (
    set -eu
    policy=/usr/sbin/policy-rc.d
    # Debian's packages start nginx on port 80 and a cluster on port 5432.  This policy prevents
    # that.  An existing policy stays as it is.
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        trap 'exit 1' INT TERM HUP
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    # Debian's sshd would start at the next boot.  This file, which Debian's unit looks for, stops it.
    case " $* " in
    *' openssh-server '*) mkdir -p /etc/ssh && : >/etc/ssh/sshd_not_to_be_run ;;
    esac
    # The same for Prometheus, whose unit looks for no file: it is masked.
    case " $* " in
    *' prometheus '*)
        mkdir -p /etc/systemd/system
        [ -e /etc/systemd/system/prometheus.service ] ||
            ln -sf /dev/null /etc/systemd/system/prometheus.service
        ;;
    esac
    # The same for etcd.  Patroni starts nothing without its settings.
    case " $* " in
    *' etcd-server '*)
        mkdir -p /etc/systemd/system
        [ -e /etc/systemd/system/etcd.service ] ||
            ln -sf /dev/null /etc/systemd/system/etcd.service
        ;;
    esac
    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
    # If the lists cannot be fetched, older ones may be enough for the installation.
    apt-get -q -o DPkg::Lock::Timeout=300 update || true
    apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "$@"
)

# need_packages LOG PACKAGE...: installs the missing packages.
need_packages() {
    local log=$1 missing as_root=()
    shift
    read -r -a missing <<<"$(missing_packages "$@")"
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null ||
        die "apt-get is missing: use Debian 12 or 13, or install the equivalents of: ${missing[*]}"
    if [ "$(id -u)" != 0 ]; then
        sudo_ready || die "missing packages; as root, run: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing packages: ${missing[*]}"
    step "apt-get install ${missing[*]}" "$log" ${as_root[@]+"${as_root[@]}"} \
        bash -c "$(declare -f install_packages); install_packages \"\$@\"" bash "${missing[@]}"
}

# Asks for the password now: later there is no terminal.
sudo_ready() {
    command -v sudo >/dev/null || return 1
    if [ -t 0 ]; then
        sudo -v
    else
        sudo -n true 2>/dev/null
    fi
}

# private_file FILE: makes a file for a lock.  Whoever may read a file can lock it, so only its owner
# may.
private_file() {
    (umask 077 && : >>"$1") && chmod 0600 "$1"
}

# build_tree DIR LOG [CONFIGURE-OPTION...]: builds the programs in DIR.  Without options, it keeps
# the configuration of DIR if there is one.
build_tree() {
    local dir=$1 log=$2
    shift 2
    mkdir -p "$dir" "$root/build" || die "cannot create $dir"
    # If two scripts start at once, they build one after the other.
    private_file "$root/build/.lock"
    exec 8>"$root/build/.lock"
    flock 8
    if [ ! -e "$root/configure" ]; then
        say "preparing the build"
        step "autoreconf" "$log" autoreconf -fi "$root"
    fi
    if ! is_configured "$dir" "$@"; then
        say "configuring ${dir#"$root/"}"
        step "configure" "$log" configure_tree "$dir" "$@"
    fi
    step "make" "$log" make -C "$dir" -j "$(nproc)" --no-print-directory
    exec 8>&-
}

is_configured() {
    local dir=$1
    shift
    [ -e "$dir/Makefile" ] && [ -e "$dir/.options" ] || return 1
    [ $# -eq 0 ] || [ "$*" = "$(cat "$dir/.options")" ]
}

# Removes the old objects first: make does not notice that other options need other objects.
configure_tree() {
    local dir=$1
    shift
    { [ ! -e "$dir/Makefile" ] || make -C "$dir" clean; } &&
        (cd "$dir" && "$root/configure" -q "$@") &&
        printf '%s\n' "$*" >"$dir/.options"
}

# npm_install DIR: installs exactly the packages of DIR/package-lock.json into a folder of the
# build, and sets npm_folder to that folder.  Packages run no scripts.
npm_install() {
    local from=$root/$1
    npm_folder=$root/build/npm/${1//\//-}
    mkdir -p "$npm_folder" || die "cannot create $npm_folder"
    # If two scripts start at once, they install one after the other.
    private_file "$npm_folder/.lock"
    exec 9>"$npm_folder/.lock"
    flock 9
    if ! cmp -s "$from/package-lock.json" "$npm_folder/.installed"; then
        command -v npm >/dev/null || die "npm is missing: install the packages nodejs and npm"
        cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$npm_folder/"
        step "npm ci for $1" "$npm_folder/npm.log" \
            env -C "$npm_folder" npm ci --ignore-scripts --no-audit --no-fund
        cp "$from/package-lock.json" "$npm_folder/.installed"
    fi
    exec 9>&-
}

# Whether DIR has the packages that docs or the console are made of, in the version of this clone.
docs_fetched() {
    local renderer
    renderer=$(sed -n 's/^RENDERER = "\(.*\)"$/\1/p' "$root/doc/reference/build.py")
    grep -qsF "$renderer " "$1/docs/renderer.txt"
}

console_fetched() {
    cmp -s "$root/console/package-lock.json" "$1/console/public.work/.installed"
}

# build_console DIR LOG: makes the console in DIR.  Fails if npm is missing or cannot fetch packages.
build_console() {
    if ! command -v npm >/dev/null; then
        warn "npm is missing: install it to make the console"
        return 1
    fi
    if ! make -C "$1" console --no-print-directory >"$2" 2>&1 </dev/null; then
        warn "make console failed:"
        show_log "$2"
        return 1
    fi
}

# build_docs DIR LOG: makes the page at /docs in DIR.  Fails if npm is missing or cannot fetch the
# renderer.
build_docs() {
    if ! docs_fetched "$1" && ! command -v npm >/dev/null; then
        warn "npm is missing: install it to make the page at /docs"
        return 1
    fi
    need_packages "$2" "${docs_packages[@]}"
    if ! make -C "$1" docs --no-print-directory >"$2" 2>&1 </dev/null; then
        warn "make docs failed:"
        show_log "$2"
        return 1
    fi
}

# make_page docs|console DIR LOG: makes the page as build_docs and build_console do.  Without a
# network npm waits for minutes, and each start would wait again.  So npm gives up soon, and
# LOG.failed keeps others from trying for an hour.
make_page() {
    local page=$1 dir=$2 log=$3
    if "${page}_fetched" "$dir" || ! command -v npm >/dev/null; then
        "build_$page" "$dir" "$log"
        return
    fi
    if [ "${ADIT_FETCH:-}" != now ] && [ -n "$(find "$log.failed" -mmin -60 2>/dev/null)" ]; then
        warn "npm could not fetch what /$page is made of, less than an hour ago, and $log says why;" \
            "to try again, set ADIT_FETCH to now"
        return 1
    fi
    say "fetching what /$page is made of from npm's registry, once"
    rm -f "$log.failed"
    npm_config_fetch_retries=1 npm_config_fetch_retry_mintimeout=1000 npm_config_fetch_timeout=15000 \
        "build_$page" "$dir" "$log" && return 0
    "${page}_fetched" "$dir" || touch "$log.failed"
    return 1
}
