import { posix } from 'node:path'
import { HearthError } from '@hearth/contract'
import type { ToolContext } from './tool.ts'

/** Characters of a text that a model is shown: the beginning and the end, since errors stand at either. */
const HEAD = 5000
const TAIL = 5000

// eslint-disable-next-line no-control-regex
const TERMINAL_CODES = /\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g
// eslint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g

/** Colours and other codes for terminals mean nothing to a model. */
export function plainText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8').replace(TERMINAL_CODES, '').replace(/\r\n/g, '\n').replace(CONTROL, '')
}

/** Whole when it is short. Else its beginning and its end, how much was left out, and where in the sandbox all of it lies. */
export async function headAndTail(text: string, raw: Uint8Array, context: ToolContext): Promise<string> {
  if (text.length <= HEAD + TAIL) return text
  const head = text.slice(0, HEAD)
  const tail = text.slice(-TAIL)
  const firstLine = head.split('\n').length
  const place = await keep(raw, context)
  const left = text.length - HEAD - TAIL
  return `${head}\n[... ${left} characters left out from line ${firstLine} on; ${place} ...]\n${tail}`
}

/** Numbered by content-free counters of the sandbox itself, so that a run that was taken up again overwrites nothing. */
async function keep(raw: Uint8Array, { sandbox, keptDirectory }: ToolContext): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const path = posix.join(keptDirectory, `${Date.now()}-${attempt}.txt`)
    try {
      await sandbox.files.write(path, raw, { exclusive: true })
      return `the full text is in ${path}`
    } catch (error) {
      if (!HearthError.isInstance(error)) throw error
      if (error.code === 'file_exists' && attempt < 100) continue
      if (error.code === 'sandbox_ended' || error.code === 'link_lost') throw error
      return `the full text could not be kept (${error.message})`
    }
  }
}
