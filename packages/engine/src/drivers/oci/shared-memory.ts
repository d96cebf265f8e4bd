import type { Limits } from '@hearth/contract'

/** Size of /dev/shm: half of the memory, to which it counts, as Linux does it; and no more than any other directory can hold. */
export function sharedMemoryBytes({ memoryBytes, diskBytes }: Pick<Limits, 'memoryBytes' | 'diskBytes'>): number {
  return Math.min(Math.floor(memoryBytes / 2), diskBytes)
}
