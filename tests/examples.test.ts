import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const folder = join(import.meta.dirname, '../examples')
const execute = promisify(execFile)

/** What each example must say; one that is not listed here fails. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  'agent-loop.ts': /^step: submit\nsubmitted, verified true: It adds now\.\n[^]*\n\+echo \$\(\(\$1 \+ \$2\)\)$/m,
  'at-least.ts': /^(got (container|gvisor|microvm), and inside I am \S+|refused: .+)$/m,
  'background-server.ts': /^HTTP\/1\.0 200 OK\nhello from inside$/m,
  'best-of.ts':
    /^attempt 1: failed \(centuries still fails\)\nattempt 2: failed \(years fails now\)\nattempt 3: passed\nwinner: attempt 3, 6 steps in all$/m,
  'files.ts': /^Ada\nEdsger\nGrace\n\nfile names\.txt 17\nfile sorted\.txt 17$/m,
  'five-fixes.ts':
    /^failed: sort \| tail -n 1 \(numbers fails now\)\n[^]*failed: change the test \(words still fails\)\nwinner: sort -n \| tail -n 1$/m,
  'fork.ts': /^added \S+how\nadded \S+packed\n(gzip -\d) is best: 2 merged, 0 conflicts\nthe parent has it: \1$/m,
  'limits.ts': /timed out true, said 'started'\n.*memory limit true\ntoo big: exit code [1-9]\d*\nstill here/,
  'narrow-command.ts':
    /^registry\.npmjs\.org: yes\napi\.github\.com: yes\n\n(with a policy of its own:\nregistry\.npmjs\.org: yes\napi\.github\.com: no|refused: .+)$/m,
  'workspace.ts': /^after the first sandbox: hello, world\nchanged: greeting \+1 -1\npushed: Greet the world$/m,
  'run-code.ts': /^sorted: \[1, 2, 3\]\na mistake is data: ZeroDivisionError\non Linux, exit code 3$/m,
}

describe('examples', () => {
  it.each(readdirSync(folder).filter((name) => name.endsWith('.ts')))('%s', async (name) => {
    const { stdout, stderr } = await execute(process.execPath, [join(folder, name)], { timeout: 110_000 })
    expect(stderr).toBe('')
    expect(stdout).toMatch(EXPECTED[name] ?? /(?!)/)
  })
})
