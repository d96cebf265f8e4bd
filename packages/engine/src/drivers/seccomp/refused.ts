import type { Action, Rule } from './policy-types.ts'

function refuse(names: string, otherwise: Action = 'EPERM'): Rule {
  return { names: names.trim().split(/\s+/), cases: [], otherwise }
}

/**
 * System calls that are known and not for a sandbox. Naming them changes only the errno: what no list names is absent (ENOSYS).
 * EPERM tells a program that it may not; ENOSYS makes it use the older way that is allowed.
 */
export const REFUSED: readonly Rule[] = [
  // The C library falls back to clone, whose flags a filter can see.
  refuse('clone3', 'ENOSYS'),
  // A large and young part of the kernel that goes around this filter. Node, Python and databases fall back.
  refuse('io_uring_setup io_uring_enter io_uring_register', 'ENOSYS'),
  // Debuggers fall back to ptrace and /proc/PID/mem.
  refuse('process_vm_readv process_vm_writev', 'ENOSYS'),

  // Mounting and changing the root.
  refuse(`mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick
    mount_setattr statmount listmount`),
  // Reaching a file by its inode instead of a path: the way out of a container by "shocker".
  refuse('open_by_handle_at name_to_handle_at'),
  // Watching whole mounts.
  refuse('fanotify_init fanotify_mark'),

  // Programs inside the kernel, and its counters.
  refuse('bpf perf_event_open'),
  // Page faults served by a program: the classic aid of races against the kernel.
  refuse('userfaultfd'),
  // The keyrings are not divided by the user namespace alone.
  refuse('add_key request_key keyctl'),
  // Taking descriptors from or looking into another process by a way that debuggers do not need.
  refuse('pidfd_getfd kcmp process_madvise process_mrelease'),
  // Secret memory is taken from the kernel's own map and cannot be reclaimed.
  refuse('memfd_secret'),

  // The running kernel: modules, another kernel, its log, its start and end.
  refuse(`init_module finit_module delete_module create_module get_kernel_syms query_module kexec_load kexec_file_load
    reboot syslog lsm_set_self_attr lsm_get_self_attr lsm_list_modules`),
  // The host's clock.
  refuse('settimeofday clock_settime clock_adjtime adjtimex'),
  // The host's disks and accounts.
  refuse('swapon swapoff quotactl quotactl_fd acct nfsservctl'),
  // Ports and tables of the processor.
  refuse('iopl ioperm modify_ldt'),
  // Placement of memory on nodes, also of other processes.
  refuse('mbind set_mempolicy get_mempolicy set_mempolicy_home_node migrate_pages move_pages'),
  // Hanging up terminals.
  refuse('vhangup'),
  // Relics.
  refuse('uselib _sysctl sysfs lookup_dcookie vserver', 'ENOSYS'),
]
