import { text } from 'node:stream/consumers'
import { HearthError } from '@hearth/sdk'

const ENTER = /[\r\n]/
const INTERRUPT = '\u0003'
const BACKSPACE: ReadonlySet<string> = new Set(['\b', '\u007f'])

/** A value that must not be seen: from a terminal without showing it, else all of standard input but its last line break. */
export async function readSecret(prompt: string): Promise<string> {
  if (!process.stdin.isTTY) return (await text(process.stdin)).replace(/\r?\n$/, '')
  process.stderr.write(prompt)
  process.stdin.setRawMode(true)
  try {
    return await readLine()
  } finally {
    process.stdin.setRawMode(false)
    process.stdin.destroy()
    process.stderr.write('\n')
  }
}

async function readLine(): Promise<string> {
  let line = ''
  for await (const chunk of process.stdin.setEncoding('utf8') as AsyncIterable<string>) {
    for (const character of chunk) {
      if (ENTER.test(character)) return line
      if (character === INTERRUPT) throw new HearthError('aborted', 'nothing was stored')
      line = BACKSPACE.has(character) ? line.slice(0, -1) : line + character
    }
  }
  return line
}
