import { spawn, type StdioOptions } from 'node:child_process'

/** Milliseconds from spawn to the first byte of output; waits for the end before it answers. */
export async function firstOutput(
  argv: readonly string[],
  extra: readonly (number | 'ignore')[] = [],
): Promise<number> {
  const [program = '', ...parameters] = argv
  const start = performance.now()
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', ...extra]
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
  if (code !== 0 || Number.isNaN(first)) throw new Error(`${program} gave no output (${String(code)}): ${problem}`)
  return first
}

/** Milliseconds of a plain child process of Node, from spawn to its end. */
export async function plainSpawn(program: string): Promise<number> {
  const start = performance.now()
  const child = spawn(program, [], { stdio: ['ignore', 'pipe', 'pipe'] })
  await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return performance.now() - start
}
