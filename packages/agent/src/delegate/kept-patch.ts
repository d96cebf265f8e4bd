import { posix } from 'node:path'
import type { ToolContext } from '../tools/tool.ts'

/** Keeps a change that was not taken over where the model can look at it, and says where. */
export async function keepPatch(run: string, patch: Uint8Array, context: ToolContext): Promise<string> {
  const path = posix.join(context.keptDirectory, `${run}.patch`)
  try {
    await context.sandbox.files.write(path, patch)
    return `Its change is kept as a patch in ${path}.`
  } catch (error) {
    return `Its change could not be kept (${error instanceof Error ? error.message.slice(0, 200) : String(error)}).`
  }
}
