import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import {
  HearthError,
  type ErrorCode,
  type ExecResult,
  type OutputChunk,
  type Process,
  type ProcessExit,
  type Sandbox,
} from '@hearth/contract'

/** The promise must be refused with one of these codes; the error is given back. */
export async function expectRefusal(promise: Promise<unknown>, ...codes: ErrorCode[]): Promise<HearthError> {
  const outcome = await promise.then(
    (value) => ({ resolved: value }) as const,
    (error: unknown) => ({ error }) as const,
  )
  if ('resolved' in outcome) expect.fail(`resolved instead of failing with ${codes.join(' or ')}`)
  const { error } = outcome
  if (!HearthError.isInstance(error)) expect.fail(`failed with something else than a HearthError: ${String(error)}`)
  expect(codes, `${error.code}: ${error.message}`).toContain(error.code)
  return error
}

/** A command that must succeed; its standard output, without the last newline. */
export async function output(sandbox: Sandbox, command: string | string[]): Promise<string> {
  return text(await sandbox.exec(command))
}

export function text(result: ExecResult): string {
  expect(result, `stderr: ${result.stderr}`).toMatchObject({ exitCode: 0, signal: null, timedOut: false })
  return result.stdout.replace(/\n$/, '')
}

export async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export async function collectOutput(process: Process): Promise<OutputChunk[]> {
  const chunks: OutputChunk[] = []
  for await (const chunk of process.output) chunks.push({ ...chunk, data: Uint8Array.from(chunk.data) })
  return chunks
}

export function joined(chunks: readonly OutputChunk[]): string {
  return Buffer.concat(chunks.map((chunk) => chunk.data)).toString()
}

/** Reads output until it contains the text. The iterator is left open, so that reading can go on. */
export async function readUntil(iterator: AsyncIterator<OutputChunk>, wanted: string | RegExp): Promise<string> {
  let seen = ''
  while (typeof wanted === 'string' ? !seen.includes(wanted) : !wanted.test(seen)) {
    const next = await iterator.next()
    if (next.done === true) expect.fail(`the output ended before ${String(wanted)}: ${JSON.stringify(seen)}`)
    seen += Buffer.from(next.value.data).toString()
  }
  return seen
}

/** How it ended, once what is left of its output was read: a process waits for its reader. */
export async function endOf(process: Process, iterator: AsyncIterator<OutputChunk>): Promise<ProcessExit> {
  while ((await iterator.next()).done !== true);
  return await process.wait()
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** A path in /tmp of the sandbox that no other test uses. */
export function scratch(name: string): string {
  return `/tmp/${name}-${randomBytes(4).toString('hex')}`
}

export async function sleep(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
}

/** Polls until the condition holds, for what takes effect soon but not at once. */
export async function eventually(
  what: string,
  condition: () => Promise<boolean> | boolean,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!(await condition())) {
    if (Date.now() > deadline) expect.fail(`not within ${timeoutMs} ms: ${what}`)
    await sleep(20)
  }
}
