import { z } from 'zod'
import { pathSchema, resolvePath } from './guest-path.ts'
import { defineTool, type Tool } from './tool.ts'

const MOST_CHARACTERS = 1024 * 1024

export const write: Tool = defineTool({
  name: 'write',
  description: 'Writes a file, with the directories on the way to it. What was there is replaced.',
  schema: z.object({ path: pathSchema, content: z.string().max(MOST_CHARACTERS) }),
  subject: ({ path }) => path,
  run: async ({ path, content }, { sandbox, workdir, signal }) => {
    const place = resolvePath(workdir, path)
    const info = await sandbox.files.write(place, content, { signal })
    return { text: `wrote ${info.size} bytes to ${place}`, structured: { path: place, sizeBytes: info.size } }
  },
})
