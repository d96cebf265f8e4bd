import { describe, expect, it } from 'vitest'
import { Hearth } from '@hearth/engine'
import type { AgentEvent } from '../src/index.ts'
import { broughtBack, delegate, delegating, family, giving, nested, reports, steps } from './support/delegation.ts'
import { BUG, FIX, VERIFY, WORKDIR } from './support/repository.ts'
import { bash, call, changedFiles } from './support/zoo.ts'

const fixing = call('edit', { path: 'ranges/parse.py', old_string: BUG, new_string: FIX })
const write = (path: string, content: string) => call('write', { path, content })
const MERGED =
  /^sub-agent 1: submitted: .*; 2 steps, 30 tokens, \$0\.00, \d+ s\)\nMerged into your files: ranges\/parse\.py\.\nWhat it says/

const text = async (delegated: { sandbox: { files: { readText(path: string): Promise<string> } } }, path: string) =>
  await delegated.sandbox.files.readText(`${WORKDIR}/${path}`)

/** What the commands of sub-agents said. */
const said = (events: readonly AgentEvent[]): string[] =>
  nested(events).flatMap(({ event }) =>
    event.type === 'tool_ended' && event.name === 'bash' ? [event.observation] : [],
  )

describe('a sub-agent', () => {
  it.each(['fork', 'fresh'])('fixes the bug in a %s machine, and its change is merged', async (machine) => {
    const { result, events } = await delegating(
      family(giving({ task: 'Find the bug.', machine, verify: VERIFY }), steps('the end was left out', fixing)),
      { verify: VERIFY },
    )
    expect(reports(events)[0]).toMatch(MERGED)
    expect(result).toMatchObject({ reason: 'submitted', verified: true, steps: 4, tokens: 60 })
    expect(changedFiles(result).map(({ path }) => path)).toEqual(['ranges/parse.py'])
    expect(broughtBack(events)).toEqual(['merged'])
    const inner = nested(events)
    expect(inner[0]).toMatchObject({ event: { type: 'started', task: 'Find the bug.', seq: 0, grant: { depth: 0 } } })
    expect(inner.at(-1)).toMatchObject({ event: { type: 'result', reason: 'submitted', verified: true } })
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
  })

  it.for(['simulated', 'container', 'gvisor', 'microvm'] as const)('works on %s', async (rung, { skip }) => {
    await using engine = new Hearth({ spareKeepers: 0 })
    const probed = (await engine.rungs()).find((each) => each.rung === rung)
    skip(probed?.probe.available !== true, `${rung} does not run here`)
    const { result, events } = await delegating(
      family(giving({ task: 'a' }, { task: 'b', machine: 'fresh' }), ({ observations, users }) =>
        observations.length === 0 ? write(`${users[0]}.txt`, 'x\n') : call('submit', { summary: '' }),
      ),
      { rung },
    )
    expect(broughtBack(events)).toEqual(['merged', 'merged'])
    expect(changedFiles(result).map(({ path }) => path)).toEqual(['a.txt', 'b.txt'])
  })

  it("works side by side with others, and lines that only one changed are that one's", async () => {
    const tasks = ['1', '2', '3']
    const { events } = await delegating(
      family(
        ({ observations }) => {
          if (observations.length === 0) return write('lines', '1\n\n\n\n2\n\n\n\n3\n')
          return observations.length === 1
            ? delegate(...tasks.map((task) => ({ task })), { task: '3', machine: 'fresh' })
            : call('submit', { summary: '' })
        },
        ({ observations, users, request }) =>
          observations.length === 0
            ? bash(`sleep 1; sed -i 's/^${users[0]}$/${users[0]} of ${request}/' lines; touch /tmp/other`)
            : call('submit', { summary: '' }),
      ),
      {
        look: async (delegated) => {
          expect(await text(delegated, 'lines')).toMatch(/^1 of \d\n\n\n\n2 of \d\n\n\n\n3 of \d\n$/)
          const [, path = ''] = /kept as a patch in (\S+)\./.exec(reports(delegated.events)[0] ?? '') ?? []
          expect(await delegated.sandbox.files.readText(path)).toMatch(/^-3\n\+3 of \d$/m)
          // What lies outside of the working directory stays behind.
          expect(await delegated.sandbox.files.exists('/tmp/other')).toBe(false)
        },
      },
    )
    expect(broughtBack(events)).toEqual(['merged', 'merged', 'merged', 'conflict'])
    expect(reports(events)[0]).toMatch(
      /sub-agent 4: [^]*Nothing of its change was taken over: both sides changed lines\./,
    )
    const begun = nested(events).findLastIndex(({ event }) => event.type === 'started')
    expect(nested(events).findIndex(({ event }) => event.type === 'stopped')).toBeGreaterThan(begun)
  })

  it('that may change nothing is asked for what it finds out', async () => {
    const { events, result } = await delegating(
      family(giving({ task: 'Look.', write: [] }), steps('there are 3 files', bash('ls'))),
    )
    expect(reports(events)[0]).toMatch(
      /^sub-agent 1: no_change: .*\nIt changed nothing\.\nWhat it says .*\n\| there are 3 files$/,
    )
    expect(broughtBack(events)).toEqual([])
    expect(result.reason).toBe('no_change')
  })
})

describe('the machine of a sub-agent', () => {
  it('reaches the names of its grant, and no others', async () => {
    const look = bash('for n in a.test b.test; do getent hosts $n > /dev/null && echo $n; done; echo end')
    const { events } = await delegating(
      family(
        giving({ task: '1', names: ['a.test'] }, { task: '2' }, { task: '3', machine: 'fresh', names: ['b.test'] }),
        steps('', look),
      ),
      { grant: { policy: { allow: ['a.test', 'b.test'] }, children: 1, depth: 1 } },
    )
    expect(said(events)).toEqual(['exit code 0\na.test\nend\n', 'exit code 0\nend\n', 'exit code 0\nb.test\nend\n'])
  })

  it('has of the files what its grant names', async () => {
    const fresh = { task: '', machine: 'fresh', read: ['ranges/parse.py', 'tests'] }
    const { events } = await delegating(
      family(giving({ ...fresh, task: 'x' }), steps('', bash('find . -type f | sort'))),
    )
    expect(said(events)).toEqual(['exit code 0\n./ranges/parse.py\n./tests/__init__.py\n./tests/test_parse.py\n'])
  })
})
