import type { Command, Process, SpawnOptions } from '@hearth/contract'
import { abortError, assertNotAborted } from '../hearth-error.ts'
import { checkedInteger } from '../checks.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import type { Answer } from '../transport/answer.ts'
import { OutputReader } from './output-reader.ts'
import { RemoteProcess } from './remote-process.ts'

/** Starts a command. The answer of that request is its output, so that the command waits for its first reader. The signal kills it. */
export function spawnProcess(client: SandboxClient, command: Command, options: SpawnOptions): Promise<Process> {
  const { signal, ...rest } = options
  const open = (_: OutputReader, ending: AbortSignal): Promise<Answer> =>
    client.send({
      method: 'POST',
      path: '/processes',
      json: { command, ...rest },
      headers: { accept: 'text/event-stream' },
      signal: ending,
    })
  return begin({ client, offset: 0, signal, open, aborted: (process, reason) => void process.abort(reason) })
}

/** Takes up a process that runs or has ended. The signal lets go of it again. */
export async function attachProcess(
  client: SandboxClient,
  process: number,
  options: { readonly offset?: number; readonly signal?: AbortSignal },
): Promise<Process> {
  const id = checkedInteger(process, 1, Number.MAX_SAFE_INTEGER, 'process')
  return await begin({
    client,
    offset: checkedInteger(options.offset ?? 0, 0, Number.MAX_SAFE_INTEGER, 'offset'),
    signal: options.signal,
    open: (reader) => reader.open(id),
    aborted: (attached, reason) => attached.abandon(reason),
  })
}

interface Beginning {
  readonly client: SandboxClient
  readonly offset: number
  readonly signal: AbortSignal | undefined
  readonly open: (reader: OutputReader, ending: AbortSignal) => Promise<Answer>
  readonly aborted: (process: RemoteProcess, reason: AbortSignal) => void
}

/** A caller who gives up is told at once; a process that has begun by then is dealt with as soon as its number is known. */
async function begin(options: Beginning): Promise<Process> {
  const { signal } = options
  assertNotAborted(signal)
  if (signal === undefined) return await connect(options, () => {})
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(abortError(signal))
      // Its own failure would only say that there is nothing to deal with.
      starting.then((process) => options.aborted(process, signal)).catch(() => {})
    }
    const starting = connect(options, () => signal.removeEventListener('abort', onAbort))
    signal.addEventListener('abort', onAbort, { once: true })
    starting.then(resolve, (error: Error) => {
      signal.removeEventListener('abort', onAbort)
      reject(error)
    })
  })
}

async function connect(options: Beginning, released: () => void): Promise<RemoteProcess> {
  const { client } = options
  const controller = new AbortController()
  const reader = new OutputReader(client, options.offset, controller.signal)
  const answer = await options.open(reader, controller.signal)
  const { started, events } = await reader.begin(answer)
  return new RemoteProcess({ client, started, reader, events, controller, released })
}
