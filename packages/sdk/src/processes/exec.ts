import type { Command, ExecOptions, ExecResponse, ExecResult } from '@hearth/contract'
import { HearthError } from '../hearth-error.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import { encodeText, fromBase64, toBase64 } from '../streams/bytes.ts'
import { SILENCE_MS, type Answer } from '../transport/answer.ts'
import { isPassing } from '../transport/retry.ts'
import { findResult } from './find-result.ts'

export interface ExecCall {
  readonly client: SandboxClient
  readonly command: Command
  readonly options: ExecOptions
  /** What is kept of the output where the call does not say. */
  readonly outputBytes: number
}

/**
 * Runs a command to its end in one request, which is never sent twice. The signal closes the request, and with it the command.
 * When the server goes away meanwhile, the command goes on, and its result is found by its number once the server is back.
 */
export async function execCommand(call: ExecCall): Promise<ExecResult> {
  const { client, options } = call
  let process: number | null = null
  try {
    const answer = await send(call)
    process = processNumber(answer.headers.get('x-hearth-process'))
    return execResult((await answer.json(SILENCE_MS)) as ExecResponse)
  } catch (error) {
    const failure = client.explained(error)
    if (!isPassing(failure)) throw failure
    process ??= processNumber(failure.context['process'])
    if (process === null) throw failure
    const { signal, maxOutputBytes = call.outputBytes } = options
    return await findResult({ client, process, signal, limit: maxOutputBytes, failure })
  }
}

function send({ client, command, options }: ExecCall): Promise<Answer> {
  const { signal, input, ...rest } = options
  return client.send({
    method: 'POST',
    path: '/exec',
    json: { command, ...rest, ...(input === undefined ? {} : { input: encodedInput(input) }) },
    headers: { prefer: 'process' },
    signal,
    timeoutMs: null,
  })
}

function execResult({ stdoutBase64, stderrBase64, ...answer }: ExecResponse): ExecResult {
  return {
    ...answer,
    stdoutBytes: stdoutBase64 === undefined ? encodeText(answer.stdout) : fromBase64(stdoutBase64),
    stderrBytes: stderrBase64 === undefined ? encodeText(answer.stderr) : fromBase64(stderrBase64),
  }
}

function processNumber(given: unknown): number | null {
  const number = typeof given === 'string' ? Number(given) : given
  return Number.isSafeInteger(number) && (number as number) > 0 ? (number as number) : null
}

function encodedInput(input: string | Uint8Array): string {
  if (typeof input === 'string') return toBase64(encodeText(input))
  if (input instanceof Uint8Array) return toBase64(input)
  throw new HearthError('invalid_request', 'input: must be a string or a Uint8Array')
}
