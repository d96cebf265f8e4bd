import { HearthError, type Hearth, type HearthEvent } from '@hearth/sdk'
import { signalNumber } from '../exit-codes.ts'
import { Interrupts } from '../interrupts.ts'
import { presentList, writeJsonLine, type View } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { ReaderGone } from '../output/reader-gone.ts'
import { formatMoment } from '../output/time.ts'
import { write } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

const DEFAULT_LIMIT = 100
const PAGE = 1000

export interface EventsOptions extends ServerOptions {
  readonly follow?: boolean
  readonly after?: number
  readonly limit?: number
  readonly export?: string
}

const eventView: View<HearthEvent> = {
  header: ['SEQ', 'TIME', 'SANDBOX', 'EVENT', 'DATA'],
  id: ({ seq }) => String(seq),
  row: (event) => [
    String(event.seq),
    formatMoment(event.at),
    event.sandbox ?? '-',
    printable(event.type),
    printable(Object.keys(event.data).length === 0 ? '' : JSON.stringify(event.data)),
  ],
}

/** What has happened, or with `--follow` what happens until it is interrupted. */
export async function events(name: string | undefined, options: EventsOptions): Promise<number> {
  if (options.export !== undefined) return await exported(name, options.export, options)
  using interrupts = new Interrupts()
  using reader = options.follow === true ? new ReaderGone() : null
  try {
    await withServer(options, async (hearth) => {
      const signal = reader === null ? interrupts.signal : AbortSignal.any([interrupts.signal, reader.signal])
      const query = {
        signal,
        // One that has ended is no longer found, but its events are.
        ...(name === undefined
          ? {}
          : { sandbox: /^sb_.{20}$/.test(name) ? name : (await findSandbox(hearth, name)).id }),
        ...(options.after === undefined ? {} : { after: options.after }),
      }
      if (options.follow !== true)
        return await presentList(options, await latest(hearth, query, options.limit), eventView)
      for await (const event of hearth.events(query)) await show(event, options)
    })
  } catch (error) {
    if (interrupts.received !== null) return 128 + signalNumber(interrupts.received)
    throw reader?.signal.aborted === true ? reader.signal.reason : error
  }
  return 0
}

async function exported(name: string | undefined, path: string, options: EventsOptions): Promise<number> {
  if (name !== undefined) return await (await import('./record.ts')).exportRecord(name, path, options)
  throw new HearthError('invalid_request', '--export needs a sandbox: a record is that of one')
}

/** The last ones that there are, oldest first, in as many calls as it takes. */
async function latest(
  hearth: Hearth,
  query: { readonly after?: number; readonly sandbox?: string; readonly signal: AbortSignal },
  limit = DEFAULT_LIMIT,
): Promise<HearthEvent[]> {
  let kept: HearthEvent[] = []
  while (kept.length < limit) {
    const last = Math.min(PAGE, limit - kept.length)
    const [oldest] = kept
    const before = oldest === undefined ? {} : { before: oldest.seq }
    const { items } = await hearth.eventPage({ ...query, ...before, last })
    kept = [...items, ...kept]
    if (items.length < last) break
  }
  return kept
}

async function show(event: HearthEvent, options: EventsOptions): Promise<void> {
  if (options.json === true) return await writeJsonLine(event)
  const text = options.quiet === true ? String(event.seq) : eventView.row(event).join('  ').trimEnd()
  await write(process.stdout, `${text}\n`)
}
