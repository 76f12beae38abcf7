/* SPDX-License-Identifier: MIT */
/* The seccomp filter.  It lists the refused calls, not the allowed ones: libraries change the calls
 * that they make, and operators would remove a filter that breaks the service at an update. */
#include "confine/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCHITECTURE AUDIT_ARCH_PPC64LE
#endif

#ifndef ARCHITECTURE

bool confine_calls(void)
{
    return false;
}

#else

/* x86_64 has a second set of calls (x32): the same numbers with this bit. */
#define X32_BIT 0x40000000U

/* From this number on all processors number calls alike.  Linux 5.0 has none of these calls, so
 * libraries work without them.  A list of names would miss future calls.  So all of them fail with
 * ENOSYS, as in an older kernel.  Landlock's calls are among them; Landlock is in force already. */
#define FIRST_NEWER_CALL 424U

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62 /* Linux 5.14 */
#endif

/* Grouped by what an attacker would use them for. */
static const uint16_t refused[] = {
    /* running programs, starting and controlling processes */
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_personality,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_setpgid,
    SYS_get_robust_list,
    SYS_migrate_pages,
    SYS_move_pages,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
    /* becoming another user, or moving to another root or namespace */
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_capset,
    SYS_chroot,
    SYS_pivot_root,
    SYS_mount,
    SYS_umount2,
    SYS_unshare,
    SYS_setns,
    /* changing folders and the attributes of files */
    SYS_unlinkat,
    SYS_renameat2,
    SYS_mkdirat,
    SYS_mknodat,
    SYS_symlinkat,
    SYS_linkat,
    SYS_truncate,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
#ifdef SYS_unlink
    SYS_unlink,
    SYS_rename,
    SYS_mkdir,
    SYS_rmdir,
    SYS_mknod,
    SYS_symlink,
    SYS_link,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_creat,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
#ifdef SYS_renameat
    SYS_renameat,
#endif
    /* having a port, or listening on another socket */
    SYS_bind,
    SYS_listen,
    /* objects of System V and POSIX, and keys, that other processes of the user share */
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_semop,
    SYS_semctl,
    SYS_semtimedop,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_mq_timedsend,
    SYS_mq_timedreceive,
    SYS_mq_notify,
    SYS_mq_getsetattr,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
/* POWER has a call for all of these, and one for all calls of sockets. */
#ifdef SYS_ipc
    SYS_ipc,
#endif
#ifdef SYS_socketcall
    SYS_socketcall,
#endif
    /* the machine, and parts of the kernel that this program does not need */
    SYS_reboot,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_swapon,
    SYS_swapoff,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_vhangup,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};

#define N_REFUSED (sizeof refused / sizeof refused[0])

struct program {
    struct sock_filter steps[2 * N_REFUSED + 128];
    unsigned short n;
};

static void add_step(struct program *program, uint16_t code, uint32_t k, uint8_t jump, uint8_t skip)
{
    program->steps[program->n++] =
        (struct sock_filter){.code = code, .jt = jump, .jf = skip, .k = k};
}

static void load(struct program *program, size_t offset)
{
    add_step(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Loads the lower half of an argument; all processors above are little-endian. */
static void load_argument(struct program *program, size_t i)
{
    load(program, offsetof(struct seccomp_data, args) + i * sizeof(uint64_t));
}

static void end(struct program *program, uint32_t verdict)
{
    add_step(program, BPF_RET | BPF_K, verdict, 0, 0);
}

static void return_errno(struct program *program, uint32_t error)
{
    end(program, SECCOMP_RET_ERRNO | error);
}

/* The next len steps apply to that call only. */
static void on_call(struct program *program, uint32_t call, uint8_t len)
{
    add_step(program, BPF_JMP | BPF_JEQ | BPF_K, call, 0, len);
}

/* Refuses to open a file for writing.  Landlock does so too, but not every kernel has it. */
static void refuse_writing(struct program *program, uint32_t call, size_t flags_argument)
{
    on_call(program, call, 4);
    load_argument(program, flags_argument);
    add_step(program, BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1);
    return_errno(program, EPERM);
    end(program, SECCOMP_RET_ALLOW);
}

/* Allows threads but no processes.  A filter cannot see the flags of clone3(); that is one of the
 * newer calls, and refused. */
static void refuse_processes(struct program *program)
{
    on_call(program, SYS_clone, 4);
    load_argument(program, 0);
    add_step(program, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    return_errno(program, EPERM);
    end(program, SECCOMP_RET_ALLOW);
}

/* Refuses a call if an argument has one of the values. */
static void refuse_arguments(struct program *program, uint32_t call, size_t argument,
                             const uint32_t *values, uint8_t n)
{
    on_call(program, call, (uint8_t)(n + 3));
    load_argument(program, argument);
    for (uint8_t i = 0; i < n; i++)
        add_step(program, BPF_JMP | BPF_JEQ | BPF_K, values[i], (uint8_t)(n - i), 0);
    end(program, SECCOMP_RET_ALLOW);
    return_errno(program, EPERM);
}

/* The kernel signals the owner of a descriptor, which may be any process of the user.  A lease
 * makes others wait that open the file.  A terminal signals the processes that use it, and takes
 * input for them.  PR_SCHED_CORE decides which processes share a processor's core. */
static void refuse_owners(struct program *program)
{
    static const uint32_t of_descriptors[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE};
    static const uint32_t of_devices[] = {FIOSETOWN, SIOCSPGRP, TIOCSPGRP,
                                          TIOCSTI,   TIOCLINUX, TIOCSIG};
    static const uint32_t of_processes[] = {PR_SCHED_CORE};

    refuse_arguments(program, SYS_fcntl, 1, of_descriptors,
                     sizeof of_descriptors / sizeof of_descriptors[0]);
    refuse_arguments(program, SYS_ioctl, 1, of_devices, sizeof of_devices / sizeof of_devices[0]);
    refuse_arguments(program, SYS_prctl, 0, of_processes, 1);
}

/* Allows a call whose first argument is a process for this process only: 0 or its own id.  abort()
 * signals itself.  Another process could be ended by a signal or by its limits, or get no
 * processor. */
static void refuse_others(struct program *program, uint32_t call)
{
    on_call(program, call, 5);
    load_argument(program, 0);
    add_step(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0);
    add_step(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 1, 0);
    return_errno(program, EPERM);
    end(program, SECCOMP_RET_ALLOW);
}

/* Refuses a call if its first argument is none of the families. */
static void refuse_families(struct program *program, uint32_t call, const uint32_t *families,
                            uint8_t n)
{
    on_call(program, call, (uint8_t)(n + 3));
    load_argument(program, 0);
    for (uint8_t i = 0; i < n; i++)
        add_step(program, BPF_JMP | BPF_JEQ | BPF_K, families[i], (uint8_t)(n - i), 0);
    return_errno(program, EAFNOSUPPORT);
    end(program, SECCOMP_RET_ALLOW);
}

/* PostgreSQL, the log and name services need these families only.  The resolver would use netlink
 * to sort addresses, and works without it.  systemd/adit.service has the same list.  IP sockets
 * have no pairs. */
static void refuse_sockets(struct program *program)
{
    static const uint32_t of_sockets[] = {AF_UNIX, AF_INET, AF_INET6};
    static const uint32_t of_pairs[] = {AF_UNIX};

    refuse_families(program, SYS_socket, of_sockets, sizeof of_sockets / sizeof of_sockets[0]);
    refuse_families(program, SYS_socketpair, of_pairs, 1);
}

/* Refuses calls with the numbers of another architecture, and newer calls. */
static void check_numbers(struct program *program)
{
    load(program, offsetof(struct seccomp_data, arch));
    add_step(program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    end(program, SECCOMP_RET_KILL_PROCESS);
    load(program, offsetof(struct seccomp_data, nr));
#if ARCHITECTURE == AUDIT_ARCH_X86_64
    add_step(program, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    return_errno(program, EPERM);
#endif
    add_step(program, BPF_JMP | BPF_JGE | BPF_K, FIRST_NEWER_CALL, 0, 1);
    return_errno(program, ENOSYS);
}

bool confine_calls(void)
{
    struct program program = {.n = 0};
    struct sock_fprog filter = {.filter = program.steps};

    check_numbers(&program);
    for (size_t i = 0; i < N_REFUSED; i++) {
        on_call(&program, refused[i], 1);
        return_errno(&program, EPERM);
    }
    refuse_processes(&program);
    refuse_others(&program, SYS_tgkill);
    refuse_others(&program, SYS_prlimit64);
    refuse_others(&program, SYS_sched_setscheduler);
    refuse_others(&program, SYS_sched_setparam);
    refuse_others(&program, SYS_sched_setaffinity);
    refuse_others(&program, SYS_sched_setattr);
    refuse_owners(&program);
#ifdef SYS_open
    refuse_writing(&program, SYS_open, 1);
#endif
    refuse_writing(&program, SYS_openat, 2);
    refuse_sockets(&program);
    end(&program, SECCOMP_RET_ALLOW);
    filter.len = program.n;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

#endif
