import { spawn, type StdioOptions } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'

/** One run of a command without Hearth. */
export interface FloorRun {
  readonly argv: readonly string[]
  /** Files that the command finds open for reading, by descriptor. */
  readonly files?: readonly { readonly descriptor: number; readonly path: string }[]
  /** Where the clock stops. */
  readonly until: 'output' | 'end'
}

/** Milliseconds from spawn to the first byte of output or to the end; answers after the end. */
export async function measureRun({ argv, files = [], until }: FloorRun): Promise<number> {
  const opened = files.map(({ descriptor, path }) => ({ descriptor, file: openSync(path, 'r') }))
  const highest = Math.max(2, ...opened.map(({ descriptor }) => descriptor))
  const stdio: StdioOptions = Array.from({ length: highest + 1 }, (_, number) => {
    if (number === 1 || number === 2) return 'pipe'
    return opened.find(({ descriptor }) => descriptor === number)?.file ?? 'ignore'
  })
  try {
    return await run(argv, stdio, until)
  } finally {
    for (const { file } of opened) closeSync(file)
  }
}

async function run(argv: readonly string[], stdio: StdioOptions, until: FloorRun['until']): Promise<number> {
  const [program = '', ...parameters] = argv
  const start = performance.now()
  const child = spawn(program, parameters, { env: {}, stdio })
  let first = Number.NaN
  let problem = ''
  child.stdout?.once('data', () => {
    first = performance.now() - start
  })
  child.stderr?.on('data', (data: Buffer) => {
    problem = `${problem}${data.toString()}`.slice(-500)
  })
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const end = performance.now() - start
  const measured = until === 'output' ? first : end
  if (code !== 0 || Number.isNaN(measured)) throw new Error(`${program} failed (${String(code)}): ${problem}`)
  return measured
}
