import { readFileSync } from 'node:fs'
import type { CodeLanguage } from '@hearth/contract'

/** How a language's interpreter is started and asked to run a cell. */
export interface Interpreter {
  readonly command: readonly string[]
  /** An interrupt ends the cell that runs, and nothing else. */
  readonly interruptible: boolean
  /** The line that asks for one cell. */
  request(mark: string, code: string): string
}

const source = (file: string): string => readFileSync(new URL(`interpreters/${file}`, import.meta.url), 'utf8')
const PYTHON = ['python-display.py', 'python-charts.py', 'python.py'].map(source).join('\n')
const asJson = (mark: string, code: string): string => `${JSON.stringify({ mark, code })}\n`

export const INTERPRETERS: Readonly<Record<CodeLanguage, Interpreter>> = {
  python: { command: ['python3', '-u', '-c', PYTHON], interruptible: true, request: asJson },
  javascript: { command: ['node', '-e', source('javascript.cjs')], interruptible: false, request: asJson },
  bash: {
    command: ['bash', '-c', source('bash.sh')],
    interruptible: false,
    request: (mark, code) => `${mark} ${Buffer.from(code).toString('base64')}\n`,
  },
}
