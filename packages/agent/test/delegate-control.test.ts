import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { SharedBudget, type AgentRun } from '../src/index.ts'
import { delegating, family, giving, nested, reports, steps } from './support/delegation.ts'
import { bash } from './support/zoo.ts'

const TWO = [
  { task: '1', write: ['ranges'] },
  { task: '2', write: ['ranges'] },
]

it('a stop ends the sub-agents with the run, and what they had come to is told', async () => {
  let run: AgentRun | null = null
  const { result, events } = await delegating(
    family(giving(...TWO), steps('', bash('echo x >> ranges/parse.py; sleep 600'))),
    {
      begun: (begun) => (run = begun),
      onEvent: (event) => {
        if (event.type === 'sub_agent' && event.event.type === 'tool_started')
          setTimeout(() => run?.stop('enough'), 500)
      },
    },
  )
  expect(result).toMatchObject({ reason: 'stopped', detail: 'enough' })
  const ended = nested(events).flatMap(({ event }) => (event.type === 'stopped' ? [event.detail] : []))
  expect(ended).toEqual(['the run that it works for was ended', 'the run that it works for was ended'])
  expect(events.find((event) => event.type === 'tool_ended')).toMatchObject({
    name: 'delegate',
    outcome: 'interrupted',
  })
  expect(reports(events)[0]).toMatch(/^sub-agent 1: stopped: /)
})

it('the end of its time ends them too', async () => {
  const { result, events } = await delegating(family(giving(...TWO), steps('', bash('sleep 600'))), {
    shared: new SharedBudget({ steps: 50, tokens: 1_000_000, dollars: null, wallTimeMs: 5000 }),
  })
  expect(result.reason).toBe('wall_time')
  expect(nested(events).at(-1)).toMatchObject({ event: { type: 'result' } })
})

it('a pause lets them stand still with the run, in which no time passes, and all go on', async () => {
  let run: AgentRun | null = null
  const pauses: Promise<number>[] = []
  const requests: number[] = []
  const stand = async (standing: AgentRun): Promise<number> => {
    await standing.pause()
    const from = requests.length
    await sleep(1500)
    const made = requests.length - from
    standing.resume()
    return made
  }
  const { result, events } = await delegating(
    (view) => {
      requests.push(view.request)
      return family(giving(...TWO), steps('', bash('echo 1'), bash('echo 2'), bash('echo x >> ranges/parse.py')))(view)
    },
    {
      begun: (begun) => (run = begun),
      onEvent: (event) => {
        if (event.type === 'sub_agent' && event.event.type === 'tool_ended' && run !== null && pauses.length === 0)
          pauses.push(stand(run))
      },
    },
  )
  expect(await Promise.all(pauses)).toEqual([0])
  expect(result.reason).toBe('submitted')
  const own = events.findIndex(({ type }) => type === 'paused')
  const inner = nested(events.slice(0, own)).filter(({ event }) => event.type === 'paused')
  expect(inner.length).toBeGreaterThan(0)
  expect(nested(events).filter(({ event }) => event.type === 'resumed')).toHaveLength(inner.length)
  const passed = (events.at(-1)?.at ?? 0) - (events[0]?.at ?? 0)
  expect(passed - result.wallTimeMs).toBeGreaterThan(1400)
})
