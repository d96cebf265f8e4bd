import type { Command, ExecOptions, ExecResponse, ExecResult } from '@hearth/contract'
import { HearthError } from '../hearth-error.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import { encodeText, fromBase64, toBase64 } from '../streams/bytes.ts'

/** Runs a command to its end in one request, which is never sent twice. The signal closes the request, and with it the command. */
export async function execCommand(client: SandboxClient, command: Command, options: ExecOptions): Promise<ExecResult> {
  const { signal, input, ...rest } = options
  const { stdoutBase64, stderrBase64, ...answer } = await client.json<ExecResponse>({
    method: 'POST',
    path: '/exec',
    json: { command, ...rest, ...(input === undefined ? {} : { input: encodedInput(input) }) },
    signal,
    timeoutMs: null,
  })
  return {
    ...answer,
    stdoutBytes: stdoutBase64 === undefined ? encodeText(answer.stdout) : fromBase64(stdoutBase64),
    stderrBytes: stderrBase64 === undefined ? encodeText(answer.stderr) : fromBase64(stderrBase64),
  }
}

function encodedInput(input: string | Uint8Array): string {
  if (typeof input === 'string') return toBase64(encodeText(input))
  if (input instanceof Uint8Array) return toBase64(input)
  throw new HearthError('invalid_request', 'input: must be a string or a Uint8Array')
}
