import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Hearth } from '@hearth/engine'
import { afterAll, describe, expect, it } from 'vitest'
import { startAgent, type AgentEvent, type AgentResult } from '../src/index.ts'
import type { ModelProgram } from './support/model-program.ts'
import { ModelServer } from './support/model-server.ts'
import type { PROTOCOLS } from './support/protocols.ts'
import { repairer, TASK } from './support/repairer.ts'
import { BUG, FIX, makeRepository, VERIFY, WORKDIR } from './support/repository.ts'

const hearth = new Hearth()
afterAll(async () => await hearth.dispose())

function patchOf(result: AgentResult): string {
  if (!result.diff.available) throw new Error(result.diff.reason)
  return Buffer.from(result.diff.patch).toString()
}

describe('a bug in a repository is fixed by the real client of', () => {
  it.each(['anthropic', 'responses', 'chat'] as const satisfies (keyof typeof PROTOCOLS)[])('%s', async (protocol) => {
    await using server = await ModelServer.start(repairer)
    await using sandbox = await hearth.create({ rung: 'process' })
    await makeRepository(sandbox)
    const events: AgentEvent[] = []
    const run = await startAgent({
      sandbox,
      workdir: WORKDIR,
      task: TASK,
      verify: VERIFY,
      model: await server.model(protocol),
      onEvent: (event) => events.push(event),
    })
    const result = await run.result
    expect(server.problems).toEqual([])
    expect(result).toMatchObject({
      reason: 'submitted',
      verified: true,
      summary: 'the end of a range is included',
      steps: 5,
    })
    expect(result.tokens).toBe(5 * 15)
    if (protocol !== 'chat') expect(result.dollars).toBeGreaterThan(0)
    expect(patchOf(result)).toContain(
      `-        pages.extend(range(int(first), ${BUG}\n+        pages.extend(range(int(first), ${FIX}\n`,
    )
    expect(result.diff).toMatchObject({ files: [{ path: 'ranges/parse.py', added: 1, removed: 1, test: false }] })
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
    expect(events.filter(({ type }) => type === 'tool_ended').every((event) => 'outcome' in event)).toBe(true)
    appliesTo(patchOf(result))
  })

  it('simulated shell, with nothing but files', async () => {
    const program: ModelProgram = ({ observations }) =>
      observations.length === 0
        ? { calls: [{ tool: 'edit', input: { path: 'ranges/parse.py', old_string: BUG, new_string: FIX } }] }
        : { calls: [{ tool: 'submit', input: { summary: 'done' } }] }
    await using server = await ModelServer.start(program)
    await using sandbox = await hearth.create({ rung: 'simulated' })
    await makeRepository(sandbox)
    const model = await server.model('anthropic')
    const verify = `grep -qF '${FIX}' ranges/parse.py`
    const run = await startAgent({ sandbox, workdir: WORKDIR, task: 'Fix it.', verify, model })
    const result = await run.result
    expect(result).toMatchObject({ reason: 'submitted', verified: true })
    expect(patchOf(result)).toContain(FIX)
  })
})

/** The patch does to a copy of the repository what it did in the sandbox. */
function appliesTo(patch: string): void {
  const directory = mkdtempSync(join(tmpdir(), 'hearth-agent-apply-'))
  try {
    const broken = `        pages.extend(range(int(first), ${BUG}\n`
    const lines = [
      'def parse(text):',
      '    """Pages of a list of ranges, both ends included."""',
      '    pages = []',
      '    for piece in text.split(","):',
      '        first, _, last = piece.partition("-")',
    ]
    execFileSync('mkdir', [join(directory, 'ranges')])
    const file = join(directory, 'ranges', 'parse.py')
    writeFileSync(file, `${lines.join('\n')}\n${broken}    return pages\n`)
    execFileSync('git', ['apply', '--check', '-'], { cwd: dirname(dirname(file)), input: patch })
  } finally {
    rmSync(directory, { recursive: true })
  }
}
