import type { PoolReport, PoolShape } from '@hearth/sdk'
import { presentOne } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { formatBytes, table } from '../output/table.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export async function showPool(options: ServerOptions): Promise<number> {
  await present(options, await withServer(options, async (hearth) => await hearth.pool.get()))
  return 0
}

/** `memoryBytes` 0 turns it off. */
export async function setPool(memoryBytes: number, options: ServerOptions): Promise<number> {
  await present(options, await withServer(options, async (hearth) => await hearth.pool.set({ memoryBytes })))
  return 0
}

async function present(options: ServerOptions, report: PoolReport): Promise<void> {
  await presentOne(options, { id: String(report.waiting), json: report, people: () => people(report) })
}

function people(report: PoolReport): string {
  const { memoryBytes, heldBytes, waiting, claimed, missed, shapes } = report
  const header = ['TEMPLATE', 'RUNG', 'CPUS', 'MEMORY', 'DISK', 'WAITING', 'HELD', 'CLAIMED', 'MISSED', 'PROBLEM']
  const rows = shapes.length === 0 ? '' : table([header, ...shapes.map(row)])
  if (memoryBytes === 0) return `${rows}off\n`
  const held = `${formatBytes(heldBytes)} of ${formatBytes(memoryBytes)}`
  return `${rows}${waiting} wait, holding ${held}; ${claimed} creates found one, ${missed} did not\n`
}

function row(shape: PoolShape): string[] {
  const { cpus, memoryBytes, diskBytes } = shape.limits
  return [
    printable(shape.template),
    shape.rung,
    String(cpus),
    formatBytes(memoryBytes),
    formatBytes(diskBytes),
    `${shape.waiting} of ${shape.wanted}`,
    formatBytes(shape.heldBytes),
    String(shape.claimed),
    String(shape.missed),
    printable(shape.problem ?? ''),
  ]
}
