import type { ExecResult, OutputChunk, ProcessExit } from '@hearth/contract'
import { abortError, HearthError } from '../hearth-error.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import { concatenate, decodeText } from '../streams/bytes.ts'
import { OutputReader } from './output-reader.ts'

export interface LostCommand {
  readonly client: SandboxClient
  readonly process: number
  readonly signal: AbortSignal | undefined
  /** Bytes of output to keep. */
  readonly limit: number
  /** What became of the call. */
  readonly failure: HearthError
}

/** The result of a command whose call broke: what it wrote is read again from the beginning, as far as it is retained. */
export async function findResult(lost: LostCommand): Promise<ExecResult> {
  const { client, process, signal, failure } = lost
  const controller = new AbortController()
  const onAbort = (): void => controller.abort(signal?.reason)
  if (signal?.aborted === true) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    const result = await collect(new OutputReader(client, 0, controller.signal), lost)
    // A server that runs on kills the command of a connection that broke; that is no result of the command's own.
    if (!wasKilled(result) || failure.code === 'shutting_down') return result
    throw withProcess(failure, process)
  } catch (error) {
    if (signal?.aborted !== true) throw error
    await killed(client, process)
    throw abortError(signal)
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

async function collect(reader: OutputReader, { process, limit }: LostCommand): Promise<ExecResult> {
  const kept: OutputChunk[] = []
  let keptBytes = 0
  let total = 0
  for await (const step of reader.resume(process)) {
    if ('exit' in step) return execResult(step.exit, kept, total)
    const { data, offset } = step.chunk
    total = offset + data.length
    const part = data.subarray(0, Math.max(0, limit - keptBytes))
    keptBytes += part.length
    if (part.length > 0) kept.push({ ...step.chunk, data: part })
  }
  throw new HearthError('protocol_violation', 'a stream of output has no exit')
}

function execResult(exit: ProcessExit, kept: readonly OutputChunk[], totalOutputBytes: number): ExecResult {
  const bytesOf = (chunks: readonly OutputChunk[]): Uint8Array => concatenate(chunks.map(({ data }) => data))
  const stdoutBytes = bytesOf(kept.filter(({ stream }) => stream === 'stdout'))
  const stderrBytes = bytesOf(kept.filter(({ stream }) => stream === 'stderr'))
  const all = bytesOf(kept)
  return {
    ...exit,
    stdoutBytes,
    stderrBytes,
    stdout: decodeText(stdoutBytes),
    stderr: decodeText(stderrBytes),
    output: decodeText(all),
    truncated: all.length < totalOutputBytes,
    totalOutputBytes,
  }
}

function wasKilled({ signal, timedOut, oom }: ProcessExit): boolean {
  return signal === 'SIGKILL' && !timedOut && !oom
}

function withProcess({ code, message, suggestion, retryable, requestId, context }: HearthError, process: number) {
  return new HearthError(code, message, { suggestion, retryable, requestId, context: { ...context, process } })
}

/** The caller gave up: as far as it can be reached, the command ends too. */
async function killed(client: SandboxClient, process: number): Promise<void> {
  const json = { signal: 'SIGKILL', tree: true }
  // Without an answer it ends by its time limit.
  await client.done({ method: 'POST', path: `/processes/${process}/signal`, json }).catch(() => {})
}
