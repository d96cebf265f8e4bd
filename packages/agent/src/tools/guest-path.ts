import { posix } from 'node:path'
import { z } from 'zod'

export const pathSchema = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[^\0]*$/, 'must not contain NUL')

/** Absolute in the sandbox, which alone decides what may be reached there. */
export function resolvePath(workdir: string, path: string): string {
  return posix.resolve(workdir, path)
}
