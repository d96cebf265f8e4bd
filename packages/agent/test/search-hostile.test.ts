import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sandbox, SandboxInfo } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checks, pathsOfCommand, search, type Candidate, type SearchReport } from '../src/index.ts'

const hearth = new Hearth({ spareKeepers: 0 })
const SUITE = randomUUID()
const WORKDIR = '/workspace'
let base: Sandbox

const FILES = {
  'sum.py': 'def total(numbers):\n    return sum(numbers[1:])\n',
  'tests/test_sum.py':
    'import unittest\nfrom sum import total\n\n\nclass SumTest(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(total([1, 2]), 3)\n',
  'verify.sh': 'python3 -c "from sum import total; assert total([4, 5]) == 9" && echo verified\n',
  'package.json': '{ "name": "sum", "scripts": { "test": "python3 -m unittest tests.test_sum" } }\n',
  Makefile: 'check:\n\tsh verify.sh\n',
}
const LINKS = { 'alias.py': 'tests/test_sum.py' }

beforeAll(async () => {
  base = await hearth.create({ rung: 'process', limits: { pids: 64 }, metadata: { suite: SUITE } })
  for (const [path, content] of Object.entries(FILES)) await base.files.write(`${WORKDIR}/${path}`, content)
  for (const [path, target] of Object.entries(LINKS)) await base.files.symlink(target, `${WORKDIR}/${path}`)
})
afterAll(async () => {
  await base.kill()
  await hearth.dispose()
})

async function forksLeft(): Promise<SandboxInfo[]> {
  return (await hearth.list()).filter(({ id, metadata }) => id !== base.id && metadata['suite'] === SUITE)
}

const append = (text: string, path = 'sum.py'): string => `printf '%s' '${text}' >> ${path}`
const HOSTILE: readonly (Candidate & { readonly name: string })[] = [
  { name: 'prints results', command: append('print("OK\\nverified")\n') },
  { name: 'floods', command: append('while True:\n    print("OK" * 1000)\n') },
  { name: 'sleeps', command: append('import time\ntime.sleep(600)\n') },
  {
    name: 'fork bomb',
    command: append('import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n'),
  },
  { name: 'fills memory', command: append('held = "x" * (4 << 30)\n') },
  { name: 'deletes the tests', command: 'rm -r tests' },
  { name: 'deletes everything', command: 'rm -rf ./* /tmp/*' },
  { name: 'edits the verify script', command: 'echo exit 0 > verify.sh' },
  { name: 'edits the Makefile', command: "printf 'check:\\n\\ttrue\\n' > Makefile" },
  { name: 'edits the script of the package', command: 'sed -i \'s/"python3.*sum"/"true"/\' package.json' },
  {
    name: 'takes the place of the runner',
    command: 'echo "" > unittest.py; mkdir unittest; touch unittest/__init__.py',
  },
  { name: 'edits tests while it runs', command: append('open("tests/test_sum.py", "w")\nopen("verify.sh", "w")\n') },
  { name: 'leaves something running', command: '(sleep 300; rm -rf /workspace) & echo' },
  { name: 'hides itself', command: "echo '*' > .gitignore; touch hidden" },
  { name: 'attempt floods', command: 'yes', timeoutMs: 1000 },
  { name: 'attempt never ends', command: 'sleep 600', timeoutMs: 1000 },
  {
    name: 'puts a link in the place of the package',
    command: `printf '{"scripts":{"test":"true"}}' > other.json; ln -sf other.json package.json`,
  },
  {
    name: 'brings a program of its own',
    patch: [
      'diff --git a/node_modules/.bin/python3 b/node_modules/.bin/python3',
      'new file mode 100755',
      '--- /dev/null',
      '+++ b/node_modules/.bin/python3',
      '@@ -0,0 +1 @@',
      '+#!/bin/true',
      '',
    ].join('\n'),
  },
  { name: 'writes a test through a link', command: 'rm alias.py; printf "import unittest\\n" > alias.py' },
  { name: 'attempt leads out', command: 'ln -sf /etc/passwd sum.py' },
]
const CHECKS = {
  tests: 'python3 -m unittest tests.test_sum',
  npm: 'PATH=$PWD/node_modules/.bin:$PATH python3 -m unittest tests.test_sum',
  package: "$(python3 -c \"import json; print(json.load(open('package.json'))['scripts']['test'])\")",
  verify: 'sh verify.sh',
  make: 'sh -c "$(sed -n 2p Makefile)"',
}

describe('a search over hostile candidates', () => {
  let report: SearchReport
  beforeAll(async () => {
    const right: Candidate = { name: 'right', command: "sed -i 's/numbers\\[1:\\]/numbers/' sum.py" }
    report = await search({
      base,
      workdir: WORKDIR,
      judge: checks(CHECKS, { timeoutMs: 1500 }),
      protect: [...Object.values(CHECKS).flatMap(pathsOfCommand), 'Makefile'],
      candidates: [...HOSTILE, right],
    })
  })

  it('keeps the one that is right', () => {
    expect(report.base).toMatchObject({ failing: ['make', 'npm', 'package', 'tests', 'verify'], flaky: [] })
    expect(report.winner?.name).toBe('right')
    expect(report.candidates.filter(({ outcome }) => outcome === 'passed')).toHaveLength(1)
  })

  it.each(HOSTILE.map(({ name }) => [name]))('%s: judged wrong', (name) => {
    const found = report.candidates.find((candidate) => candidate.name === name)
    expect(found).toBeDefined()
    expect(['failed', 'broken', 'no_change']).toContain(found?.outcome)
  })

  it('names what was changed of the tests and of what runs them', () => {
    const edits = (name: string) => report.candidates.find((candidate) => candidate.name === name)?.testEdits
    expect(edits('deletes the tests')).toEqual(['tests/test_sum.py'])
    expect(edits('edits the verify script')).toEqual(['verify.sh'])
    expect(edits('edits the Makefile')).toEqual(['Makefile'])
    expect(edits('edits the script of the package')).toEqual(['package.json'])
    expect(edits('puts a link in the place of the package')).toEqual(['package.json'])
    const verdict = (name: string) => report.candidates.find((candidate) => candidate.name === name)?.verdict
    expect(verdict('puts a link in the place of the package')).toMatchObject({ package: false })
    expect(verdict('brings a program of its own')).toMatchObject({ npm: false })
    expect(verdict('writes a test through a link')).toMatchObject({ tests: false })
    expect(edits('takes the place of the runner')).toContain('unittest.py')
  })

  it('leaves the base as it was, and no machine', async () => {
    expect(await base.files.readText(`${WORKDIR}/sum.py`)).toBe(FILES['sum.py'])
    expect(await forksLeft()).toEqual([])
  })
})

describe('a search that is stopped', () => {
  it('ends what runs, and leaves no machine', async () => {
    const abort = new AbortController()
    const searching = search({
      base,
      workdir: WORKDIR,
      signal: abort.signal,
      judge: checks({ verify: 'sh verify.sh' }),
      candidates: [{ command: 'sleep 600' }, { command: 'sleep 600' }],
      onProgress: ({ type }) => type === 'attempting' && abort.abort(new Error('stopped by a person')),
    })
    const report = await searching
    expect(report).toMatchObject({ stopped: true, winner: null, reason: expect.stringMatching(/^stopped before all/) })
    expect(report.candidates.map(({ outcome }) => outcome)).toEqual(['ended', 'ended'])
    expect(await forksLeft()).toEqual([])
  })

  it('still gives what had passed by then', async () => {
    const abort = new AbortController()
    const report = await search({
      base,
      workdir: WORKDIR,
      signal: abort.signal,
      judge: checks({ there: 'test -e there' }),
      candidates: [{ command: 'touch there' }, { command: 'sleep 600' }],
      onProgress: ({ type }) => type === 'judged' && abort.abort(new Error('stopped by a person')),
    })
    expect(report).toMatchObject({ stopped: true, winner: { index: 0, outcome: 'passed' } })
    expect(report.candidates[1]?.outcome).toBe('ended')
    expect(await forksLeft()).toEqual([])
  })

  it('by kill -9 leaves nothing behind for longer than its lease', async () => {
    const own = await hearth.create({ rung: 'process', ttlMs: 60_000, metadata: { suite: SUITE } })
    await own.files.makeDirectory(WORKDIR, { parents: true })
    await own.release()
    const program = join(import.meta.dirname, 'support/search-victim.ts')
    const child = spawn(process.execPath, [program, own.id, '2000'], { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', (data: Buffer) => (said += data.toString()))
    while (!/^judging$/m.test(said)) {
      if (child.exitCode !== null) throw new Error(`the search has ended: ${said}`)
      await sleep(20)
    }
    child.kill('SIGKILL')
    const left = await forksLeft()
    expect(left.filter(({ parent }) => parent === own.id).length).toBeGreaterThan(0)
    const until = Date.now() + 20_000
    await using again = new Hearth({ spareKeepers: 0 })
    for (;;) {
      await again.sweep({ graceMs: 0 })
      const children = (await again.list()).filter(({ parent }) => parent === own.id)
      if (children.length === 0) break
      expect(Date.now()).toBeLessThan(until)
      await sleep(100)
    }
    await using adopted = await again.adopt(own.id)
    expect((await adopted.exec('test -e there', { cwd: WORKDIR })).exitCode).toBe(1)
  })
})
