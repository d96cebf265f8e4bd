import { HearthError, type OutputChunk, type Process, type ProcessInfo, type RemoteSandbox } from '@hearth/sdk'
import { signalNumber } from '../exit-codes.ts'
import { Interrupts } from '../interrupts.ts'
import { writeJsonLine } from '../output/present.ts'
import { write } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface LogsOptions extends ServerOptions {
  readonly follow?: boolean
  readonly offset?: number
}

/** What a process has written and the sandbox has kept; with `--follow` also what it writes until it ends. */
export async function logs(name: string, id: number | undefined, options: LogsOptions): Promise<number> {
  using interrupts = new Interrupts()
  try {
    await withServer(options, async (hearth) => {
      const sandbox = await findSandbox(hearth, name, interrupts.signal)
      const info = await chosen(sandbox, id)
      // Without --follow the part that is there now; one that has ended is read with its exit.
      const until = options.follow === true || info.exit !== null ? Infinity : info.outputBytes
      if (until <= (options.offset ?? 0)) return
      const child = await sandbox.attach(info.id, { offset: options.offset ?? 0, signal: interrupts.signal })
      await show(child, until, options)
    })
  } catch (error) {
    if (interrupts.received !== null) return 128 + signalNumber(interrupts.received)
    throw error
  }
  return 0
}

/** The one that is named, else the newest that runs, else the newest. */
async function chosen(sandbox: RemoteSandbox, id: number | undefined): Promise<ProcessInfo> {
  const all = (await sandbox.processes()).toSorted((left, right) => left.id - right.id)
  const found =
    id === undefined
      ? (all.findLast(({ exit }) => exit === null) ?? all.at(-1))
      : all.find((process) => process.id === id)
  if (found !== undefined) return found
  const what = id === undefined ? 'nothing has been started in it' : `there is no process ${id}`
  throw new HearthError('process_not_found', `${sandbox.id}: ${what}`, {
    suggestion: `\`hearth ps ${sandbox.id} --all\` shows its processes.`,
  })
}

async function show(child: Process, until: number, options: LogsOptions): Promise<void> {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  for await (const chunk of child.output) {
    if (chunk.dropped > 0 && options.json !== true && options.quiet !== true) {
      process.stderr.write(`hearth: ${chunk.dropped} bytes before this were not kept\n`)
    }
    const { stream, offset, dropped } = chunk
    const data = cut(chunk, until)
    if (options.json === true) {
      const text = decoders[stream].decode(data, { stream: true })
      await writeJsonLine({ type: 'output', stream, offset, dropped, text })
    } else {
      await write(stream === 'stdout' ? process.stdout : process.stderr, data)
    }
    if (offset + chunk.data.length >= until) return await child.detach()
  }
  const exit = await child.wait()
  if (options.json === true) await writeJsonLine({ type: 'exit', exit })
}

function cut(chunk: OutputChunk, until: number): Uint8Array {
  return chunk.offset + chunk.data.length > until ? chunk.data.subarray(0, until - chunk.offset) : chunk.data
}
