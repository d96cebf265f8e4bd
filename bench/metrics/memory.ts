import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Sandbox } from '@hearth/contract'
import type { BenchContext } from '../context.ts'
import { liveRuntime, programOf } from '../floors/live-runtime.ts'
import type { Measurement } from '../report/row.ts'
import { proportionalKilobytes, wholeKilobytes } from './process-memory.ts'

/** What an idle sandbox costs on the host, beside what its runtime takes. */
export async function measureMemory(context: BenchContext): Promise<Measurement[]> {
  const count = context.rung === 'microvm' ? 2 : context.rung === 'gvisor' ? 4 : 20
  const collect = garbageCollector()
  await (await context.create()).kill()
  collect()
  const before = process.memoryUsage().heapUsed
  const sandboxes = await Promise.all(Array.from({ length: count }, async () => await context.create()))
  try {
    for (const sandbox of sandboxes) await sandbox.exec(['/bin/true'])
    collect()
    const heap = (process.memoryUsage().heapUsed - before) / count / 1000
    const { rung } = context
    const rows: Measurement[] = [
      {
        rung,
        metric: 'Node heap per idle sandbox',
        unit: 'KB',
        samples: [heap],
        floors: [],
        target: { kind: 'maximum', value: 100 },
      },
    ]
    if (!context.capabilities.processes) return rows
    const own = sandboxes.map((sandbox) => guestAndKeeper(context, sandbox))
    const whole = sandboxes.map((sandbox) => wholeKilobytes(context.hearth, sandbox))
    return [
      ...rows,
      {
        rung,
        metric: 'guest and keeper, idle',
        unit: 'KB',
        samples: own,
        floors: [],
        target: { kind: 'maximum', value: 1000 },
      },
      { rung, metric: 'whole sandbox, idle', unit: 'KB', samples: whole, floors: [], target: null },
    ]
  } finally {
    await Promise.all(sandboxes.map(async (sandbox) => await sandbox.kill()))
  }
}

/** The guest runs in the host's process table only where it shares the kernel; elsewhere it is part of the runtime. */
function guestAndKeeper(context: BenchContext, sandbox: Sandbox): number {
  const { keeper, pids } = liveRuntime(context.hearth, sandbox)
  const guests = pids.filter((pid) => programOf(pid) === programOf(keeper))
  return [keeper, ...guests].reduce((sum, pid) => sum + proportionalKilobytes(pid), 0)
}

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  return () => {
    collect()
    collect()
  }
}
