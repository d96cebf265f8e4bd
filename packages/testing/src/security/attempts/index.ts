import type { Attempt } from '../attempt.ts'
import { HOST_THINGS } from './host-things.ts'
import { KERNEL_SURFACE } from './kernel-surface.ts'
import { NETWORK } from './network.ts'
import { PRIVILEGES } from './privileges.ts'
import { PROC_TRICKS } from './proc-tricks.ts'

export const ATTEMPTS: Readonly<Record<string, readonly Attempt[]>> = {
  'files, processes and memory of the host': HOST_THINGS,
  'services and routes': NETWORK,
  privileges: PRIVILEGES,
  'the surface of the kernel': KERNEL_SURFACE,
  'tricks of old': PROC_TRICKS,
}
