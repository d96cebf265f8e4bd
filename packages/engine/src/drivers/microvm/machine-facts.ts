import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Limits } from '@hearth/contract'
import type { HostFacts } from '../../host/facts.ts'
import { incompatibleMemory } from '../incompatible-memory.ts'
import type { Accelerator } from './accelerator.ts'
import { machineArguments, memoryMebibytes } from './machine-arguments.ts'
import { processorsOf, type MachineParts } from './machine-plan.ts'

/** What must be the same where a captured machine goes on. The names are what a refusal says. */
export type MachineFacts = Readonly<Record<string, string | number>>

export async function machineFacts(
  parts: MachineParts,
  limits: Pick<Limits, 'memoryBytes' | 'cpus' | 'diskBytes'>,
  { baseIdentity, volumes }: { readonly baseIdentity: string; readonly volumes: boolean },
  host: HostFacts,
): Promise<MachineFacts> {
  return {
    'QEMU version': parts.qemu.version,
    'device layout': deviceLayout(parts, volumes),
    processor: await processor(parts.accelerator),
    'memory in MiB': memoryMebibytes(limits.memoryBytes),
    'number of processors': processorsOf(limits.cpus, host),
    'disk size': limits.diskBytes,
    'disk image of the template': baseIdentity,
  }
}

/** Throws `snapshot_incompatible` with what differs. */
export function compareFacts(captured: MachineFacts, here: MachineFacts): void {
  const names = [...new Set([...Object.keys(captured), ...Object.keys(here)])]
  const different = names.filter((name) => captured[name] !== here[name])
  if (different.length === 0) return
  const words = different.map((name) => `${name} (${captured[name] ?? 'none'} there, ${here[name] ?? 'none'} here)`)
  throw incompatibleMemory(`the captured machine cannot go on here: ${words.join(', ')}`, { different })
}

/** Everything about the machine's devices that the arguments say. */
function deviceLayout(parts: MachineParts, volumes: boolean): string {
  const { qemu, accelerator } = parts
  const shape = {
    memoryBytes: 0,
    processors: 1,
    accelerator,
    capturable: true,
    volumes: volumes ? 'served' : 'none',
    start: { kind: 'restore' },
  } as const
  return digest(machineArguments(qemu, shape).slice(1).join('\n'))
}

/** An emulated one is the same everywhere, but its clock ticks with the host's. */
async function processor(accelerator: Accelerator): Promise<string> {
  if (accelerator.kind === 'tcg') return `emulated, ${Math.round(accelerator.tscKhz / 10_000) / 100} GHz`
  const information = await readFile('/proc/cpuinfo', 'utf8')
  const lines = ['model name', 'flags'].map((name) => new RegExp(`^${name}\\s*:.*$`, 'm').exec(information)?.[0])
  return `kvm, ${digest(lines.join('\n'))}`
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
