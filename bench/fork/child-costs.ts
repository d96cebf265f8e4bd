import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import { openStore, type EmbeddedSandbox } from '@hearth/engine'
import { DESCRIPTORS } from '../../packages/engine/src/drivers/microvm/machine-arguments.ts'
import { runStore } from '../../packages/engine/src/store/store-helper.ts'
import type { BenchContext } from '../context.ts'
import { commandOf, descriptorFile, liveRuntime } from '../floors/live-runtime.ts'
import { copiedKilobytes, wholeKilobytes } from '../metrics/process-memory.ts'
import type { Measurement, Target } from '../report/row.ts'
import { forkOnce } from './fork-once.ts'

const COPIED_TARGET: Target = { kind: 'maximum', value: 2000 }

/** Memory and disk of each of several children, when they are handed out and when each has run a command. */
export async function measureChildCosts(
  context: BenchContext,
  parent: EmbeddedSandbox,
  count: number,
  /** Goes behind the names of the rows. */
  suffix = '',
): Promise<Measurement[]> {
  const { hearth, rung, capabilities } = context
  if (!capabilities.processes) return []
  const memory: number[] = []
  const disk: number[] = []
  const copied = { handedOut: [] as number[], answered: [] as number[] }
  const alone = wholeKilobytes(hearth, parent)
  const copiedBy = (children: readonly EmbeddedSandbox[]): number[] =>
    rung === 'microvm' ? children.map((child) => guestMemoryCopied(context, child)) : []
  await forkOnce(context, parent, count, {
    handedOut: (children) => void copied.handedOut.push(...copiedBy(children)),
    answered: async (children) => {
      copied.answered.push(...copiedBy(children))
      // What the parent shares with its children counts for less in it: all are taken together.
      const together = [parent, ...children].reduce((sum, sandbox) => sum + wholeKilobytes(hearth, sandbox), 0)
      memory.push((together - alone) / children.length)
      disk.push(...(await areaKilobytes(context, children)))
    },
  })
  const base = { rung, unit: 'KB', floors: [] } as const
  const copiedTarget = suffix === '' ? COPIED_TARGET : null
  const rows: Measurement[] = [
    { ...base, metric: `memory of each child${suffix}`, samples: memory, target: null },
    { ...base, metric: `guest memory copied, handed out${suffix}`, samples: copied.handedOut, target: copiedTarget },
    { ...base, metric: `guest memory copied, first output${suffix}`, samples: copied.answered, target: copiedTarget },
    { ...base, metric: `disk of each child${suffix}`, samples: disk, target: null },
  ]
  return rows.filter(({ samples }) => samples.length > 0)
}

function guestMemoryCopied({ hearth }: BenchContext, child: Sandbox): number {
  const { pid } = commandOf(liveRuntime(hearth, child), /^qemu-system/)
  return copiedKilobytes(readFileSync(`/proc/${pid}/smaps`, 'utf8'), descriptorFile(pid, DESCRIPTORS.memory))
}

/** Only btrfs can tell what a child has for itself. */
async function areaKilobytes({ hearth }: BenchContext, children: readonly Sandbox[]): Promise<number[]> {
  const { guest, store } = hearth.paths
  if ((await openStore(hearth.paths)).kind !== 'btrfs') return []
  const kilobytes: number[] = []
  for (const { id } of children) kilobytes.push(Number(await runStore(guest, 'usage', join(store, 'areas', id))) / 1000)
  return kilobytes
}
