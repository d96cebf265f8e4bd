import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelProgram } from '../packages/agent/test/support/model-program.ts'
import { ModelServer } from '../packages/agent/test/support/model-server.ts'

const folder = join(import.meta.dirname, '../examples')
const execute = promisify(execFile)

/** What each example must say; one that is not listed here fails. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  'anthropic-client.ts':
    /^a sandbox for each call: it says NameError: name 'total' is not defined\none for the conversation: it says 10100$/m,
  'agent-loop.ts': /^step: submit\nsubmitted, verified true: It adds now\.\n[^]*\n\+echo \$\(\(\$1 \+ \$2\)\)$/m,
  'at-least.ts': /^(got (container|gvisor|microvm), and inside I am \S+|refused: .+)$/m,
  'background-server.ts': /^HTTP\/1\.0 200 OK\nhello from inside$/m,
  'best-of.ts':
    /^attempt 1: failed \(centuries still fails\)\nattempt 2: failed \(years fails now\)\nattempt 3: passed\nwinner: attempt 3, 6 steps in all$/m,
  'e2b-client.ts': /^sorted: 1 2 3 \nkept between cells: 6\nhere it is as it was: "3\\n1\\n2\\n"$/m,
  'files.ts': /^Ada\nEdsger\nGrace\n\nfile names\.txt 17\nfile sorted\.txt 17$/m,
  'five-fixes.ts':
    /^failed: sort \| tail -n 1 \(numbers fails now\)\n[^]*failed: change the test \(words still fails\)\nwinner: sort -n \| tail -n 1$/m,
  'fork.ts': /^added \S+how\nadded \S+packed\n(gzip -\d) is best: 2 merged, 0 conflicts\nthe parent has it: \1$/m,
  'limits.ts': /timed out true, said 'started'\n.*memory limit true\ntoo big: exit code [1-9]\d*\nstill here/,
  'openai-client.ts':
    /^a sandbox for each call: it says NameError: name 'total' is not defined\none for the conversation: it says 10100$/m,
  'mcp-client.ts': /^tools: exec .* destroy_sandbox\n[^]*hello, world\n[^]*good morning, world\nthe sandbox is gone$/m,
  'narrow-command.ts':
    /^registry\.npmjs\.org: yes\napi\.github\.com: yes\n\n(with a policy of its own:\nregistry\.npmjs\.org: yes\napi\.github\.com: no|refused: .+)$/m,
  'own-hearth.ts': /^a child says: 4\na second one: grant_exceeded\na name that was not granted: grant_exceeded$/m,
  'pandastack-client.ts': /^exec: 5050\nbranch 1: 1\nbranch 2: 1 2\nbranch 3: 1 2 3$/m,
  'sub-agents.ts':
    /^sub-agent 1: not begun: .*policy: example\.com:443 \(allowed: no names\)\nmerged: docs\/usage\.md\nsub-agent 1: submitted: .*\nsubmitted, 5 steps in all: sh greet\.sh \[NAME\]$/m,
  'workspace.ts': /^after the first sandbox: hello, world\nchanged: greeting \+1 -1\npushed: Greet the world$/m,
  'run-code.ts': /^sorted: \[1, 2, 3\]\na mistake is data: ZeroDivisionError\non Linux, exit code 3$/m,
}

/** Needs in its second call what it made in its first one. */
const counting: ModelProgram = ({ observations, last }) => {
  const run = (code: string) => ({ calls: [{ tool: 'run_code', input: { code } }] })
  if (observations.length === 0) return run('total = sum(range(101))\nprint(total)')
  return observations.length === 1 ? run('print(total * 2)') : { text: `it says ${last}` }
}

let models: ModelServer
beforeAll(async () => {
  models = await ModelServer.start(counting)
})
afterAll(async () => await models[Symbol.asyncDispose]())

/** Official clients find the server by what they read anyway. */
function environment(): NodeJS.ProcessEnv {
  const keys = { ANTHROPIC_API_KEY: 'key', OPENAI_API_KEY: 'key' }
  return { ...process.env, ...keys, ANTHROPIC_BASE_URL: models.origin, OPENAI_BASE_URL: models.url }
}

describe('examples', () => {
  it.each(readdirSync(folder).filter((name) => name.endsWith('.ts')))('%s', async (name) => {
    const { stdout, stderr } = await execute(process.execPath, [join(folder, name)], {
      timeout: 110_000,
      env: environment(),
    })
    expect(stderr).toBe('')
    expect(stdout).toMatch(EXPECTED[name] ?? /(?!)/)
  })
})
