import type { Rule } from './policy-types.ts'

function allow(names: string): Rule {
  return { names: names.trim().split(/\s+/), cases: [], otherwise: 'allow' }
}

/** What ordinary programs need. Everything here works on what the caller has already, or on its own namespaces. */
export const ALLOWED: readonly Rule[] = [
  // Descriptors that are open already, and pipes.
  allow(`read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range dup dup2 dup3
    fcntl flock pipe pipe2 sendfile splice tee vmsplice copy_file_range readahead fadvise64`),

  // Opening and describing files. The root is the sandbox's own, so paths need no check here.
  allow(`open openat openat2 creat access faccessat faccessat2 stat lstat fstat newfstatat statx statfs fstatfs ustat
    getdents getdents64 readlink readlinkat getcwd chdir fchdir umask cachestat`),

  // Changing files. Owner and mode changes are bounded by the user namespace.
  allow(`truncate ftruncate fallocate fsync fdatasync sync syncfs sync_file_range rename renameat renameat2 mkdir mkdirat
    rmdir link linkat unlink unlinkat symlink symlinkat chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat
    utime utimes utimensat futimesat`),

  // Makes fifos and sockets; devices need a capability that the sandbox does not have. tar, dpkg and mkfifo call it.
  allow('mknod mknodat'),

  // Extended attributes of own files: tar, rsync, cp -a.
  allow(`setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr
    lremovexattr fremovexattr setxattrat getxattrat listxattrat removexattrat`),

  // Waiting for several things.
  allow(`select pselect6 poll ppoll epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd
    eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime`),

  // File watchers of editors, test runners and the guest's own watch. Unlike fanotify it sees only what the caller may read.
  allow('inotify_init inotify_init1 inotify_add_watch inotify_rm_watch'),

  // The asynchronous file calls of databases. The newer interface (io_uring) is refused.
  allow('io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents'),

  // Memory of the caller.
  allow(`mmap munmap mremap mprotect brk madvise mincore msync mlock mlock2 munlock mlockall munlockall
    remap_file_pages memfd_create mseal map_shadow_stack membarrier`),

  // Memory protection keys: JavaScript engines.
  allow('pkey_alloc pkey_free pkey_mprotect'),

  // Starting, identifying and ending processes. New namespaces are in the conditional rules.
  allow(`fork vfork execve execveat exit exit_group wait4 waitid getpid getppid gettid getpgid setpgid getpgrp getsid
    setsid set_tid_address kill tkill tgkill pidfd_open pidfd_send_signal prctl`),

  // Users and groups inside: the guest switches users, `su` and package installers too. Ids outside the range do not exist.
  allow(`getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid setresgid
    setgroups setfsuid setfsgid capget capset`),

  // Signals.
  allow(`rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo
    rt_tgsigqueueinfo sigaltstack pause restart_syscall`),

  // Threads.
  allow(`futex futex_waitv futex_wake futex_wait futex_requeue set_robust_list get_robust_list rseq arch_prctl
    set_thread_area get_thread_area`),

  // Time: reading it, sleeping, own timers. Setting the clock is refused.
  allow(`time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm getitimer setitimer timer_create
    timer_settime timer_gettime timer_getoverrun timer_delete times`),

  // Own share of the processor and own limits; never above the hard limits.
  allow(`sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_setparam sched_getscheduler
    sched_setscheduler sched_getattr sched_setattr sched_get_priority_max sched_get_priority_min sched_rr_get_interval
    getpriority setpriority ioprio_get ioprio_set getrlimit setrlimit prlimit64 getrusage getcpu`),

  // Sockets that exist; which families can be made is in the conditional rules.
  allow(`bind listen accept accept4 connect shutdown getsockname getpeername getsockopt setsockopt sendto recvfrom
    sendmsg recvmsg sendmmsg recvmmsg`),

  // System V and POSIX inter-process communication: the IPC namespace is the sandbox's own. Databases use it.
  allow(`shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink
    mq_timedsend mq_timedreceive mq_notify mq_getsetattr`),

  // What the machine is called and how loaded it is. Names live in the UTS namespace; changing them needs a capability.
  allow('uname sysinfo sethostname setdomainname'),

  // Randomness.
  allow('getrandom'),

  // A program may confine itself further: browsers and sandboxes of build tools.
  allow('seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self'),

  // Debuggers and strace. The PID namespace holds nothing but the sandbox, and the filter applies to what a tracer injects.
  allow('ptrace'),
]
