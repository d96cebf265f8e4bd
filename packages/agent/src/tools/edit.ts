import { z } from 'zod'
import { pathSchema, resolvePath } from './guest-path.ts'
import { defineTool, type Tool } from './tool.ts'

const MOST_BYTES = 8 * 1024 * 1024
const MOST_CHARACTERS = 512 * 1024

export const edit: Tool = defineTool({
  name: 'edit',
  description:
    'Replaces a piece of a text file. `old_string` must stand there exactly, with its indentation, and only once unless `replace_all` is true.',
  schema: z.object({
    path: pathSchema,
    old_string: z.string().min(1).max(MOST_CHARACTERS),
    new_string: z.string().max(MOST_CHARACTERS),
    replace_all: z.boolean().optional(),
  }),
  subject: ({ path }) => path,
  run: async ({ path, old_string, new_string, replace_all }, { sandbox, workdir, signal }) => {
    const place = resolvePath(workdir, path)
    const info = await sandbox.files.stat(place)
    if (info.type !== 'file') return { text: `${place} is not a file but a ${info.type}`, failed: true }
    if (info.size > MOST_BYTES) return { text: `${place} is too large to be edited: ${info.size} bytes`, failed: true }
    const content = decode(await sandbox.files.read(place, { length: MOST_BYTES }))
    if (content === null) return { text: `${place} is not a text in UTF-8`, failed: true }
    const pieces = content.split(old_string)
    const found = pieces.length - 1
    if (found === 0) return { text: `old_string does not stand in ${place}; read the file again`, failed: true }
    if (found > 1 && replace_all !== true) {
      return {
        text: `old_string stands ${found} times in ${place}; take in more lines around it, or replace_all`,
        failed: true,
      }
    }
    if (old_string === new_string) return { text: 'old_string and new_string are the same', failed: true }
    await sandbox.files.write(place, pieces.join(new_string), { signal })
    const text = `replaced ${found === 1 ? 'one place' : `${found} places`} in ${place}`
    return { text, structured: { path: place, replaced: found } }
  },
})

/** Null for bytes that would not come back as they were. */
function decode(bytes: Uint8Array): string | null {
  const text = Buffer.from(bytes).toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : null
}
