# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by tools/serve and tools/edge: the state folder, the users, and the keeper.
#
# The keeper is the process that starts and stops all others.  It holds a lock while it lives, and
# writes its process id into the lock file.  So if the lock is held, the id in the file is the
# keeper's.
#
# tools/lib.sh comes first.
# shellcheck disable=SC2154  # $root and $tool come from there

# A shell starts background commands with SIGINT ignored, and no trap can change that.
if [ "$(trap -p INT)" = "trap -- '' SIGINT" ]; then
    # Without bash in front, env would take a path with "=" for a variable.
    exec env --default-signal=INT bash "$root/tools/$tool" "$@"
fi

is_root=false
[ "$(id -u)" != 0 ] || is_root=true

state=${ADIT_STATE:-$root/.adit}
[[ $state == /* ]] || state=$PWD/$state
while [[ $state == */ ]]; do
    state=${state%/}
done

# The caller may have exported variables for another stack.  TMPDIR goes too, because the service
# user may not be able to enter the caller's temporary folder.
unset ADIT_CONF ADIT_URL ADIT_KEY ADIT_HEADER ADITCTL TMPDIR "${!PG@}"

# --- the state folder -----------------------------------------------------------------------------
#
# The folder belongs to the caller.  Only data/ and run/ belong to the user that the programs run
# as.  PostgreSQL refuses to run as root, so if the caller is root, the programs run as Debian's
# user postgres.  Otherwise they run as the caller.

make_folder() {
    # shellcheck disable=SC2174  # the mode is for the last folder alone
    mkdir -p -m "$1" "$2" 2>/dev/null || die "cannot create the folder $2"
}

# Makes $state a real path.
find_state() {
    [ ! -e "$state" ] || [ -d "$state/" ] ||
        die "the state folder $state is not a folder: set ADIT_STATE to another path"
    [ -d "$state/" ] || die "the state folder $state does not exist: start with tools/serve first"
    check_owner
    state=$(realpath "$state")
}

# A folder such as /tmp is everybody's, so the path may be a link that somebody else made, to a folder of
# the caller.
check_owner() {
    local owner
    if [ -L "$state" ] && [ "$(stat -c %u "$state")" != "$(id -u)" ]; then
        die "the state folder $state is a link of $(stat -c %U "$state"): remove it," \
            "or set ADIT_STATE to another folder"
    fi
    owner=$(stat -L -c %u "$state")
    if [ "$owner" != "$(id -u)" ]; then
        owner=$(stat -L -c %U "$state")
        die "the state folder $state belongs to $owner: run as $owner, or set ADIT_STATE to another folder"
    fi
}

short_hash() {
    printf '%s' "$1" | sha256sum | cut -c 1-12
}

# The folder of sockets and of generated settings.  A socket's path has at most 107 bytes, and
# neither nginx, sshd nor a connection string accepts every character.
set_run() {
    run=$state/run
    if [[ ! $run =~ ^[A-Za-z0-9/._+-]{1,80}$ ]]; then
        run=/tmp/adit-$(id -u)-$(short_hash "$state")
    fi
}

# Removes that folder where it is not in the state folder.  Each start makes all that is in it.
remove_run() {
    [ "$run" = "$state/run" ] || as_service rm -rf "$run"
}

# Prints the service's name as adit.conf has it.
service_name() {
    local name
    name=$(awk '/^[ \t]*\[/ { in_service = /^[ \t]*\[service\]/ }
        in_service && sub(/^[ \t]*name[ \t]*[=:][ \t]*/, "") { sub(/[ \t\r].*/, ""); name = $0 }
        END { print name }' "$1")
    # With any other name the responder does not start, and says why.
    [[ $name =~ ^[a-z][a-z0-9]*$ ]] || name=service
    printf '%s' "$name"
}

# version_header CONF
version_header() {
    local name
    name=$(service_name "$1")
    printf '%s-Version' "${name^}"
}

# --- users ----------------------------------------------------------------------------------------

drop=()
service_home=${HOME-/}
service_user=$(id -un)
if $is_root; then
    service_user=postgres
    drop=(--reuid=postgres --regid=postgres --init-groups)
    # libpq looks for certificates there, and fails if it may not look.
    service_home=~postgres
fi

# Runs a command as the service user, who may not be able to enter the current folder.
as_service() {
    (cd / && HOME=$service_home exec setpriv "${drop[@]}" -- "$@")
}

# Makes a folder that only the service user can enter.
service_dir() {
    if ! mkdir -m 0700 "$1" 2>/dev/null; then
        # In /tmp another user may have made a folder or a link of this name.
        if [ -L "$1" ] || [ "$(stat -c '%U %a' "$1" 2>/dev/null)" != "$service_user 700" ]; then
            die "$1 is not a folder of $service_user with mode 0700: remove it"
        fi
    elif $is_root; then
        chown postgres: "$1"
    fi
}

# --- ports ----------------------------------------------------------------------------------------

# check_port_number VARIABLE PORT [WANTED]
check_port_number() {
    if [[ ! $2 =~ ^[1-9][0-9]{0,4}$ ]] || [ "$2" -gt 65535 ]; then
        die "$1 is '$2'; set it to ${3:-a port, 1 to 65535}"
    fi
}

# check_port_free VARIABLE PORT
check_port_free() {
    # Check twice: a previous run may be about to end.
    if port_answers "$2" && sleep 1 && port_answers "$2"; then
        die "port $2 on 127.0.0.1 is in use: set $1 to another port"
    fi
}

port_answers() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# --- the keeper -----------------------------------------------------------------------------------

take_lock() {
    private_file "$state/lock"
    exec 9>>"$state/lock"
    # Wait 1 s: others may hold the lock for a moment to check it.
    flock -w 1 9 || die "already running with the state folder $state"
    printf '%s\n' "$$" >"$state/lock"
    exec 8>&-
}

# Before the keeper takes its lock, packages are installed and programs are built, which takes
# minutes.  This lock says that a start or a stop is under way.  Others wait for it: otherwise a stop
# would find nothing to stop, and the programs would run afterwards.  Whatever prepares a start runs
# with "8>&-": a service of a new package must not keep the lock.
take_turn() {
    private_file "$state/turn"
    exec 8>>"$state/turn"
    flock -n 8 && return 0
    say "waiting for another tools/$tool that starts or stops with the state folder $state"
    flock 8
}

is_running() {
    [ -e "$state/lock" ] && ! flock -s -n "$state/lock" true
}

declare -A pids=() started=()

# spawn NAME SIGNAL COMMAND...: starts a program in a session of its own.  So Ctrl-C reaches only
# the keeper, which stops all programs in order.  If the keeper is killed, the kernel sends SIGNAL
# to the program.
spawn() {
    local name=$1 signal=$2 log=$state/log/$1.log
    shift 2
    [ ! -e "$log" ] || mv "$log" "$log.1"
    (
        cd /
        exec 9>&-
        HOME=$service_home exec setsid setpriv --pdeathsig "$signal" "${drop[@]}" -- "$@"
    ) >"$log" 2>&1 </dev/null &
    pids[$name]=$!
    started[$name]=$SECONDS
}

# Asks the shell, not the kernel: a child's process id may have been reused.
is_alive() {
    [ -n "${pids[$1]:-}" ] && [[ $'\n'$(jobs -rp)$'\n' == *$'\n'"${pids[$1]}"$'\n'* ]]
}

is_gone() {
    ! is_alive "$1"
}

# stop_child NAME SECONDS SIGNAL...: sends the signals in turn until the child ends.  Waits SECONDS
# after each.
stop_child() {
    local name=$1 seconds=$2 signal
    shift 2
    for signal; do
        if is_alive "$name"; then
            kill -s "$signal" "${pids[$name]}" || true
            until_true "$seconds" is_gone "$name" || true
        fi
    done
    forget "$name"
}

# Kills the rest of the program's group: if nginx's master was killed, its workers go on and keep
# the port.
forget() {
    [ -z "${pids[$1]:-}" ] || kill -s KILL -- "-${pids[$1]}" 2>/dev/null || true
    unset "pids[$1]"
}

# blame NAME PROBLEM: reports a program's problem with its log, and ends the keeper.
blame() {
    warn "$1 $2"
    show_log "$state/log/$1.log"
    exit 1
}

# until_true SECONDS COMMAND...
until_true() {
    local tries=$(($1 * 20))
    shift
    while ! "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.05
    done
}

# watch [NAME]...: waits until all programs have ended.  Starts those of these names again with
# start_NAME, but no other program.
watch() {
    local dead
    while [ ${#pids[@]} -gt 0 ]; do
        dead=
        wait -n -p dead "${pids[@]}" 2>/dev/null || true
        note_end "$(name_of "${dead:-}")" "$@"
    done
    die "all programs have ended"
}

name_of() {
    local name
    for name in "${!pids[@]}"; do
        [ "${pids[$name]}" != "$1" ] || printf '%s' "$name"
    done
}

# note_end NAME [RESTARTED]...
note_end() {
    local name=$1
    shift
    [ -n "$name" ] || die "wait failed"
    if [[ " $* " == *" $name "* ]]; then
        warn "$name ended; restarting it"
    else
        warn "$name ended; the others go on"
    fi
    show_log "$state/log/$name.log"
    forget "$name"
    if [[ " $* " == *" $name "* ]]; then
        # At most one start a second: a program that cannot start would keep the machine busy.
        [ "$SECONDS" != "${started[$name]}" ] || sleep 1
        "start_$name"
    fi
}

# start_keeper VARIABLE=VALUE...: starts the keeper as a process of its own, without the caller's
# terminal and session.  Returns once it is ready.
start_keeper() {
    local keeper log=$state/log/$tool.log
    env "$@" setsid "$root/tools/$tool" --keeper >"$log" 2>&1 </dev/null 8>&- &
    keeper=$!
    trap 'kill "$keeper"; exit 1' INT TERM HUP
    while [ "$(cat "$state/ready" 2>/dev/null)" != "$keeper" ]; do
        if ! kill -0 "$keeper" 2>/dev/null; then
            cat "$log" >&2
            exit 1
        fi
        sleep 0.05
    done
    trap - INT TERM HUP
}

# stop_keeper STATE: the folder to name, as ADIT_STATE sets it.
stop_keeper() {
    take_turn
    is_running || { say "not running with the state folder $1" && return 0; }
    kill "$(cat "$state/lock")" || true
    flock -w 90 "$state/lock" true || die "still running after 90 s: read $state/log"
    say "stopped"
}
