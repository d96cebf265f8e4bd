import { join } from 'node:path'
import { z } from 'zod'
import { interpreterSchema } from '../store/snapshot-manifest.ts'
import type { CapturedInterpreters } from './code-contexts.ts'
import { readKept, writeKeptOfLiving } from './kept-file.ts'

const FILE = 'interpreters.json'

const keptSchema = z.object({ captured: z.array(interpreterSchema), copied: z.boolean() })

/** The interpreters that an engine which is gone had in a sandbox that goes on. */
export function readInterpreters(directory: string): CapturedInterpreters {
  return keptSchema.safeParse(readKept(join(directory, FILE))).data ?? { captured: [], copied: false }
}

export function writeInterpreters(directory: string, interpreters: CapturedInterpreters): void {
  writeKeptOfLiving(join(directory, FILE), interpreters)
}
