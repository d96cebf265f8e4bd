import { posix } from 'node:path'
import { z } from 'zod'
import { matchesGlob } from '../glob.ts'
import { pathSchema, resolvePath } from './guest-path.ts'
import { plainText } from './observation.ts'
import { defineTool, type Tool, type ToolContext } from './tool.ts'

const MOST_MATCHES = 100
const LINE_CHARACTERS = 400
const MOST_PATHS = 200
const LISTING_BYTES = 4 * 1024 * 1024
const SEARCH_MS = 60_000

export const grep: Tool = defineTool({
  name: 'grep',
  description:
    'Searches files for an extended regular expression. Shows path, line number and line; at most 100 of them.',
  schema: z.object({
    pattern: z
      .string()
      .min(1)
      .max(4096)
      .regex(/^[^\0]*$/, 'must not contain NUL'),
    path: pathSchema.optional().describe('A file or a directory. Default: the working directory.'),
    include: z.string().min(1).max(256).optional().describe('Only files with such names, for example *.ts'),
  }),
  subject: ({ path }) => path ?? '.',
  run: async ({ pattern, path = '.', include }, context) => {
    const names = include === undefined ? [] : [`--include=${include}`]
    const command = ['grep', '-rnE', '--exclude-dir=.git', ...names, '-e', pattern, '--', path]
    const { exitCode, stdout, stderr } = await search(command, context)
    const lines = stdout.split('\n').filter((line) => line !== '' && !/binary file .*matches$/i.test(line))
    // 1 is "nothing found"; with results, an unreadable file somewhere is no failure.
    if (lines.length === 0) {
      return stderr === '' && (exitCode === 1 || exitCode === 0)
        ? { text: 'nothing was found', structured: { lines: [], truncated: false } }
        : { text: `grep failed: ${stderr.trim()}`, failed: true }
    }
    const shown = lines.slice(0, MOST_MATCHES).map((line) => line.slice(0, LINE_CHARACTERS))
    const truncated = lines.length > MOST_MATCHES
    const more = truncated ? `\n(only the first ${MOST_MATCHES} are shown; search for less)` : ''
    return { text: shown.join('\n') + more, structured: { lines: shown, truncated } }
  },
})

export const glob: Tool = defineTool({
  name: 'glob',
  description: 'Finds files by their path: * and ? within a name, ** over directories, {a,b} for one of several.',
  schema: z.object({
    pattern: z.string().min(1).max(1024),
    path: pathSchema.optional().describe('Search below this directory. Default: the working directory.'),
  }),
  subject: ({ path }) => path ?? '.',
  run: async ({ pattern, path = '.' }, context) => {
    const root = resolvePath(context.workdir, path)
    const command = ['find', root, '-name', '.git', '-prune', '-o', '-type', 'f', '-print']
    const { stdout, stderr, exitCode } = await search(command, context)
    if (stdout === '' && exitCode !== 0) return { text: `find failed: ${stderr.trim()}`, failed: true }
    const wanted = pattern.startsWith('/') ? pattern : posix.join(root, pattern)
    const found = stdout.split('\n').filter((line) => line !== '' && matchesGlob(line, wanted))
    if (found.length === 0) return { text: 'nothing was found', structured: { paths: [], truncated: false } }
    const shown = found.toSorted().slice(0, MOST_PATHS)
    const truncated = found.length > MOST_PATHS
    const more = truncated ? `\n(only ${MOST_PATHS} of ${found.length} are shown)` : ''
    return { text: shown.join('\n') + more, structured: { paths: shown, truncated } }
  },
})

async function search(
  command: string[],
  { sandbox, workdir, signal, remainingMs }: ToolContext,
): Promise<{ stdout: string; stderr: string; exitCode: number | null }> {
  const timeoutMs = Math.max(1, Math.ceil(Math.min(SEARCH_MS, remainingMs)))
  const result = await sandbox.exec(command, { cwd: workdir, timeoutMs, maxOutputBytes: LISTING_BYTES, signal })
  return {
    stdout: plainText(result.stdoutBytes),
    stderr: plainText(result.stderrBytes.subarray(0, 2000)),
    exitCode: result.exitCode,
  }
}
