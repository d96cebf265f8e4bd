import { join } from 'node:path'
import { Steps } from './setup/progress.ts'
import { runCommand } from './setup/run-command.ts'

const root = join(import.meta.dirname, '..')
const bin = (name: string): string => join(root, 'node_modules/.bin', name)

const CHECKS: readonly { readonly title: string; readonly program: string; readonly args: readonly string[] }[] = [
  { title: 'format', program: bin('oxfmt'), args: ['--check', '.'] },
  { title: 'messages', program: process.execPath, args: ['guest/messages/generate.ts', '--check'] },
  { title: 'lockfile', program: process.execPath, args: ['scripts/lockfile.ts', '--check'] },
  { title: 'types', program: bin('tsc'), args: ['-p', 'tsconfig.json'] },
  { title: 'lint', program: bin('oxlint'), args: ['--type-aware', '--deny-warnings'] },
  { title: 'unused code', program: bin('knip'), args: ['--no-progress'] },
]

/** Every check that needs no sandbox. All of them run, so that one call shows everything that is wrong. */
export async function check(): Promise<number> {
  const steps = new Steps()
  let failed = 0
  for (const { title, program, args } of CHECKS) {
    const started = performance.now()
    const { code, output } = await runCommand(program, args, { cwd: root, env: { NO_COLOR: '1' } })
    if (code === 0) {
      steps.done(`${title} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
    } else {
      failed += 1
      steps.problem(`${title}:\n${output.trimEnd()}`)
    }
  }
  return failed === 0 ? 0 : 1
}
