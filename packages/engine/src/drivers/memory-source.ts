import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { LaunchRequest } from './driver.ts'

/** The snapshot whose processes go on in the new machine; null when there is none, or it has only files. */
export function memorySource({ from }: LaunchRequest): StoredSnapshot | null {
  return from === null || from.manifest.memory === null ? null : from
}
