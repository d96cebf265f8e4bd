import type { Rung } from '@hearth/contract'
import { timed, type BenchContext } from '../context.ts'
import type { Measurement, Target } from '../report/row.ts'

const MB = 1_000_000
const SIZE = 100 * MB
const CHUNK = 1_000_000

const TARGETS: Readonly<Record<Rung, Target | null>> = {
  simulated: null,
  process: { kind: 'minimum', value: 300 },
  container: { kind: 'minimum', value: 300 },
  gvisor: { kind: 'minimum', value: 100 },
  microvm: { kind: 'minimum', value: 100 },
}

/** 100 MB into a file and out again, as streams. */
export async function measureTransfer(context: BenchContext): Promise<Measurement[]> {
  await using sandbox = await context.create()
  const block = Buffer.alloc(CHUNK, 'hearth')
  async function* content(): AsyncGenerator<Uint8Array> {
    for (let sent = 0; sent < SIZE; sent += CHUNK) yield block
  }
  const write: number[] = []
  const read: number[] = []
  for (let round = 0; round < (context.quick ? 2 : 6); round++) {
    const writing = await timed(async () => await sandbox.files.write('/tmp/transfer', content()))
    write.push(SIZE / MB / (writing / 1000))
    let received = 0
    const reading = await timed(async () => {
      for await (const chunk of sandbox.files.readStream('/tmp/transfer')) received += chunk.length
    })
    if (received !== SIZE) throw new Error(`read ${received} of ${SIZE} bytes`)
    read.push(SIZE / MB / (reading / 1000))
  }
  const { rung } = context
  const common = { rung, unit: 'MB/s', floors: [], target: TARGETS[rung] } as const
  return [
    { ...common, metric: '100 MB write', samples: write },
    { ...common, metric: '100 MB read', samples: read },
  ]
}
