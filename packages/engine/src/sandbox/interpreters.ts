import { readFileSync } from 'node:fs'
import type { CodeLanguage } from '@hearth/contract'

/** How a language's interpreter is started and asked to run a cell. */
export interface Interpreter {
  readonly command: readonly string[]
  /** The program without which there is none. */
  readonly program: string
  /** An interrupt ends the cell that runs, and nothing else. */
  readonly interruptible: boolean
  /** The line that asks for one cell. `copied`: before it, random numbers become others than those of the sandbox that this one is a copy of. */
  request(mark: string, code: string, copied: boolean): string
}

const source = (file: string): string => readFileSync(new URL(`interpreters/${file}`, import.meta.url), 'utf8')
const PYTHON = ['python-display.py', 'python-charts.py', 'python-commands.py', 'python.py'].map(source).join('\n')
const asJson = (mark: string, code: string, copied: boolean): string => `${JSON.stringify({ mark, code, copied })}\n`
const encoded =
  (encoding: 'base64' | 'hex') =>
  (mark: string, code: string): string =>
    `${mark} ${Buffer.from(code).toString(encoding)}\n`

export const INTERPRETERS: Readonly<Record<CodeLanguage, Interpreter>> = {
  python: { command: ['python3', '-u', '-c', PYTHON], program: 'python3', interruptible: true, request: asJson },
  javascript: {
    command: ['node', '-e', source('javascript.cjs')],
    program: 'node',
    interruptible: false,
    request: asJson,
  },
  bash: {
    command: ['bash', '-c', source('bash.sh')],
    program: 'bash',
    interruptible: false,
    request: encoded('base64'),
  },
  r: {
    command: ['sh', '-c', source('r.sh'), 'r', source('r.R')],
    program: 'Rscript',
    interruptible: true,
    request: encoded('hex'),
  },
  java: {
    command: ['sh', '-c', source('java.sh'), 'java', source('Cells.java')],
    program: 'java',
    interruptible: false,
    request: encoded('base64'),
  },
}
