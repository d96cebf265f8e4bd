import type { Writable } from 'node:stream'

/** Writes and waits until the bytes were taken, so that a slow reader slows down the command and not this process's memory. */
export async function write(stream: Writable, data: string | Uint8Array): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.write(data, (error) => (error === null || error === undefined ? resolve() : reject(error)))
  })
}

/** One JSON value on standard output. */
export async function writeJson(value: unknown): Promise<void> {
  await write(process.stdout, `${JSON.stringify(value, null, process.stdout.isTTY ? 2 : undefined)}\n`)
}

/** Whether the reader of our output has gone, as with `| head`. */
export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}
