import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { arch } from 'node:os'
import type { Limits } from '@hearth/contract'
import type { SnapshotManifest } from '../../store/snapshot-manifest.ts'
import { programVersion } from '../staging/program-version.ts'
import { incompatibleMemory } from '../incompatible-memory.ts'
import type { Runsc } from './runsc-plan.ts'
import { RememberedByKey } from '../../host/remembered.ts'

/** What a checkpoint depends on. Its format is that of one build of runsc; programs in it have chosen their code by the processor's features. */
export interface CheckpointFacts extends Record<string, string> {
  readonly runsc: string
  readonly platform: string
  readonly architecture: string
  /** Digest of our own program, whose code a restored sandbox takes from the file again. */
  readonly guest: string
  /** Words with a blank between them, in alphabetical order. */
  readonly cpuFeatures: string
}

const known = new RememberedByKey<CheckpointFacts>()

export async function hostFacts(runsc: Runsc, guest: string): Promise<CheckpointFacts> {
  const { mtimeMs, ino, size } = await stat(guest)
  const key = `${runsc.platform} ${runsc.program} ${guest} ${mtimeMs} ${ino} ${size}`
  return await known.get(key, () => readFacts(runsc, guest))
}

async function readFacts({ program, platform }: Runsc, guest: string): Promise<CheckpointFacts> {
  const [runsc, information, own] = await Promise.all([
    programVersion(program),
    readFile('/proc/cpuinfo', 'utf8'),
    readFile(guest),
  ])
  const features = /^(?:flags|Features)\s*:(.*)$/m.exec(information)?.[1]?.trim().split(/\s+/) ?? []
  const digest = createHash('sha256').update(own).digest('hex')
  return { runsc, platform, architecture: arch(), guest: digest, cpuFeatures: features.toSorted().join(' ') }
}

/** Throws `snapshot_incompatible`, and names what differs, when processes of the snapshot cannot go on here. */
export function checkFacts({ memory, info }: SnapshotManifest, limits: Limits, here: CheckpointFacts): void {
  const captured = memory?.facts ?? {}
  const differences = (['runsc', 'platform', 'architecture', 'guest'] as const)
    .filter((name) => captured[name] !== here[name])
    .map((name) => `${name} was ${captured[name] ?? 'unknown'} and is ${here[name]}`)
  const features = new Set(here.cpuFeatures.split(' '))
  const missing = String(captured['cpuFeatures'] ?? '')
    .split(' ')
    .filter((name) => !features.has(name))
  if (missing.length > 0) differences.push(`this processor lacks ${missing.join(', ')}`)
  if (memory !== null && limits.memoryBytes < memory.bytes) {
    differences.push(`its memory needs ${memory.bytes} bytes and the limit is ${limits.memoryBytes}`)
  }
  // A hard limit of a running process can only be lowered.
  if (limits.pids > info.limits.pids) differences.push(`pids was ${info.limits.pids} and cannot become ${limits.pids}`)
  if (differences.length === 0) return
  throw incompatibleMemory(`the memory of snapshot ${info.id} cannot be restored: ${differences.join('; ')}`, {
    differences: differences.join('; '),
  })
}
