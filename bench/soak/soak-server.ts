import { serve } from '@hearth/server'

/**
 * The server of the soak, in a process of its own with `--expose-gc`. What is normally kept for hours is kept for seconds here, so that a
 * run of minutes sees whether it goes. Arguments: the home. It says where it listens, and answers each message with its memory.
 */
export interface Serving {
  readonly url: string
  readonly key: string
}

export interface ServerMemory {
  readonly rssBytes: number
  readonly heapBytes: number
}

const KEPT_MS = 20_000

const [home = ''] = process.argv.slice(2)
const server = await serve({
  home,
  port: 0,
  prepare: false,
  // What waits comes and goes with the load, and would look like growth.
  engine: { pool: false },
  lifecycle: {
    housekeeping: {
      roundMs: 5000,
      purgeMs: 5000,
      operationMs: KEPT_MS,
      endedMs: KEPT_MS,
      events: { maximumPerSandbox: 1000, maximumAgeMs: KEPT_MS },
    },
  },
})
process.on('message', () => {
  globalThis.gc?.()
  const { rss, heapUsed, external } = process.memoryUsage()
  const memory: ServerMemory = { rssBytes: rss, heapBytes: heapUsed + external }
  process.send?.(memory)
})
process.once('SIGTERM', () => {
  void server.stop({ graceMs: 1000 }).then(() => process.exit(0))
})
const serving: Serving = { url: server.url, key: server.firstKey?.token ?? '' }
process.send?.(serving)
