/**
 * Capabilities of the guest and of root inside, on every rung of namespaces. They count in the sandbox's own user
 * namespace only, on files and processes of its own ids. Nothing else is given: no mounting, no network
 * administration, no raw packets, no devices, no tracing of other users, no clock.
 */
export const GUEST_CAPABILITIES = [
  // Running a command as the user that the caller names; installers that drop their rights.
  'CAP_SETUID',
  'CAP_SETGID',
  // Giving files to that user: uploads, archives, package managers.
  'CAP_CHOWN',
  // Reading and writing for any user, as root does everywhere; the guest serves file calls this way.
  'CAP_DAC_OVERRIDE',
  // Modes and times of files of others: tar, cp -a, dpkg.
  'CAP_FOWNER',
  // Keeping the set-group-id bit of directories that dpkg and tar write.
  'CAP_FSETID',
  // Ending the processes of any user inside.
  'CAP_KILL',
  // Servers on ports below 1024, on the sandbox's own loopback.
  'CAP_NET_BIND_SERVICE',
] as const

/**
 * Of the guest itself. It takes them out of its bounding set before anything runs, so that nothing it executes has them: a
 * network of its own for a command with a narrower policy, and that taking out. What they could mount or join is refused by the filter.
 */
export const OWN_CAPABILITIES = ['CAP_SYS_ADMIN', 'CAP_NET_ADMIN', 'CAP_SETPCAP'] as const
