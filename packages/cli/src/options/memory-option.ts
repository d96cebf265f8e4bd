import { InvalidArgumentError, Option } from 'commander'
import type { MemoryMode } from '@hearth/sdk'
import { parseSize } from './quantity.ts'
import { MEMORY_LIMIT } from './sandbox-options.ts'

const MODES: readonly MemoryMode[] = ['auto', 'required', 'none']

/** Whether running processes are captured. */
export function memoryOption(
  description = 'running processes too, or it fails; by default where the rung can',
): Option {
  return new Option('--memory <mode>', description).choices(MODES)
}

/** How much memory a sandbox may have, and whether the processes of its snapshot go on in it. */
export interface MemoryChoice {
  readonly limit?: number
  readonly mode?: MemoryMode
}

/** One option for both, which may be given twice: a size is never a mode. */
export function memoryChoice(): Option {
  const description = `${MEMORY_LIMIT}; with --from also ${MODES.join(', ')}: whether its processes go on`
  return new Option('--memory <size>', description).argParser(chosen)
}

function chosen(text: string, previous: MemoryChoice = {}): MemoryChoice {
  const mode = MODES.find((name) => name === text)
  if (mode !== undefined) return { ...previous, mode }
  if (/^[a-z]/.test(text)) throw new InvalidArgumentError(`It must be a size like 512M, or ${MODES.join(', ')}.`)
  return { ...previous, limit: parseSize(text) }
}
