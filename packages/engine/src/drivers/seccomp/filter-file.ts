import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { HostPaths } from '../../host/host.ts'
import { writeOnce } from '../staging/write-once.ts'
import { requireArchitecture } from './syscall-numbers.ts'
import { toBpf } from './to-bpf.ts'
import { RememberedByKey } from '../../host/remembered.ts'

let program: Buffer | null = null

/** The filter for this host's processor. */
export function hostFilter(): Buffer {
  program ??= toBpf(requireArchitecture())
  return program
}

const written = new RememberedByKey<string>()

/** The filter as a file that a runtime reads by descriptor. Its name is its content, so that it is written once. */
export function filterFile(paths: Pick<HostPaths, 'cache'>): Promise<string> {
  const bytes = hostFilter()
  const name = createHash('sha256').update(bytes).digest('hex').slice(0, 32)
  const path = join(paths.cache, 'filters', `${name}.bpf`)
  return written.get(path, () => writeOnce(path, bytes))
}
