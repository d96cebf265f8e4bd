import { z } from 'zod'
import { pathSchema, resolvePath } from './guest-path.ts'
import { plainText } from './observation.ts'
import { defineTool, type Tool } from './tool.ts'

const DEFAULT_LINES = 2000
const LINE_CHARACTERS = 2000
const TEXT_CHARACTERS = 32_000
const MOST_BYTES = 16 * 1024 * 1024

export const read: Tool = defineTool({
  name: 'read',
  description: 'Reads a text file, with line numbers. Of a long one, ask for the lines you need.',
  schema: z.object({
    path: pathSchema,
    offset: z.int().min(1).optional().describe('The first line, counted from 1.'),
    limit: z.int().min(1).max(DEFAULT_LINES).optional().describe('Lines at the most. Default 2000.'),
  }),
  subject: ({ path }) => path,
  run: async ({ path, offset = 1, limit = DEFAULT_LINES }, { sandbox, workdir }) => {
    const place = resolvePath(workdir, path)
    const info = await sandbox.files.stat(place)
    // Asking a pipe or a device for its content could wait for ever.
    if (info.type !== 'file') return { text: `${place} is not a file but a ${info.type}`, failed: true }
    if (info.size > MOST_BYTES) {
      return {
        text: `${place} has ${info.size} bytes; look at parts of it with bash (head, tail, sed -n)`,
        failed: true,
      }
    }
    const bytes = await sandbox.files.read(place, { length: MOST_BYTES })
    if (bytes.subarray(0, 8192).includes(0))
      return { text: `${place} is a binary file of ${info.size} bytes`, failed: true }
    const text = numbered(plainText(bytes), offset, limit)
    return { text, structured: { path: place, sizeBytes: info.size, text } }
  },
})

function numbered(text: string, offset: number, limit: number): string {
  if (text === '') return '(the file is empty)'
  const lines = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n')
  if (offset > lines.length) return `(the file has ${lines.length} lines)`
  const shown: string[] = []
  let characters = 0
  for (const line of lines.slice(offset - 1, offset - 1 + limit)) {
    const cut =
      line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)} [... ${line.length} characters]` : line
    characters += cut.length
    if (shown.length > 0 && characters > TEXT_CHARACTERS) break
    shown.push(`${String(offset + shown.length).padStart(6)}\t${cut}`)
  }
  const next = offset + shown.length
  const rest = next <= lines.length ? `\n(${lines.length} lines in all; go on with offset ${next})` : ''
  return shown.join('\n') + rest
}
