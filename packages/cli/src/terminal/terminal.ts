import type { Process } from '@hearth/contract'
import { HearthError } from '@hearth/sdk'
import { exitCodeOf } from '../exit-codes.ts'
import { write } from '../output/write.ts'

export function assertTerminal(verb: string, instead: string): void {
  if (process.stdin.isTTY && process.stdout.isTTY) return
  throw new HearthError('invalid_request', `${verb} needs a terminal, and standard input or output is none`, {
    suggestion: instead,
  })
}

/** A terminal that nobody has given a size says zero. */
export function terminalSize(): { rows: number; cols: number } {
  return { rows: process.stdout.rows || 24, cols: process.stdout.columns || 80 }
}

/** This terminal is that of the command until the command ends: keys go to it as they are, and so do changes of the size. */
export async function showTerminal(child: Process, input: (keys: AsyncIterable<Uint8Array>) => void): Promise<number> {
  // A resize that arrives after the end has nobody to tell.
  const resize = (): void => void child.resize(terminalSize()).catch(() => undefined)
  process.stdout.on('resize', resize)
  process.stdin.setRawMode(true)
  try {
    input(process.stdin)
    for await (const chunk of child.output) await write(process.stdout, chunk.data)
    return exitCodeOf(await child.wait())
  } finally {
    process.stdin.setRawMode(false)
    process.stdin.destroy()
    process.stdout.off('resize', resize)
  }
}
