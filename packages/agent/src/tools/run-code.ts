import { CODE_LANGUAGES, type CodeLanguage } from '@hearth/contract'
import { z } from 'zod'
import { endWhere } from './bash.ts'
import { headAndTail, plainText } from './observation.ts'
import { defineTool, type Tool } from './tool.ts'

const DEFAULT_MS = 120_000
const LONGEST_MS = 600_000

export const runCode: Tool = defineTool({
  name: 'run_code',
  description:
    'Runs code in an interpreter whose variables last from call to call. The value of the last expression is shown.',
  schema: z.object({
    code: z
      .string()
      .min(1)
      .max(64 * 1024),
    language: z.enum(CODE_LANGUAGES).optional().describe('Default python.'),
    timeout_ms: z.int().min(1).max(LONGEST_MS).optional(),
  }),
  subject: ({ language }) => language ?? 'python',
  run: async ({ code, language, timeout_ms }, context) => {
    const { sandbox, remainingMs, signal } = context
    const timeoutMs = Math.max(1, Math.ceil(Math.min(timeout_ms ?? DEFAULT_MS, remainingMs)))
    const result = await sandbox.runCode(code, {
      language: language ?? 'python',
      timeoutMs,
      context: 'agent',
      signal,
    })
    const parts = [
      result.timedOut ? 'timed out; the interpreter was started anew and its variables are gone' : null,
      result.oom ? 'the memory limit was reached; the interpreter was started anew' : null,
      result.stdout,
      result.stderr,
      result.error === null ? null : result.error.traceback || `${result.error.name}: ${result.error.message}`,
      result.text,
    ]
    const raw = Buffer.from(parts.filter((part) => part !== null && part !== '').join('\n'))
    const text = await headAndTail(plainText(raw), raw, context)
    const failed = result.error !== null || result.timedOut || result.oom
    return { text: text === '' ? '(no output)' : text, failed }
  },
  // A cell cannot be told from its interpreter: both end.
  abandon: async ({ language }, context) => {
    await endWhere((words) => isInterpreter(words, language ?? 'python'), context)
    return 'the interpreter was ended, and its variables are gone'
  },
})

/** How the interpreters of a sandbox are started. The program that reads the cells comes after it, or is too long to be listed. */
const BEGINNINGS: Readonly<Record<CodeLanguage, readonly string[]>> = {
  python: ['python3', '-u', '-c'],
  javascript: ['node', '-e'],
  bash: ['bash', '-c'],
  r: ['sh', '-c'],
  java: ['sh', '-c'],
}
/** It is longer than what is mostly given to these programs: what was started with `bash` is not ended for it. */
const READER_CHARACTERS = 300

function isInterpreter(words: readonly string[], language: CodeLanguage): boolean {
  const beginning = BEGINNINGS[language]
  if (!beginning.every((word, index) => words[index] === word)) return false
  const [reader, name] = words.slice(beginning.length)
  if (language === 'r' || language === 'java') return name === language
  return reader === undefined || reader.length > READER_CHARACTERS
}
