import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileEventLog, startAgent, type Model, type ModelRequest } from '@hearth/agent'
import type { Sandbox } from '@hearth/contract'
import type { BenchContext } from '../context.ts'
import { timed } from '../context.ts'
import { median, percentile, type Measurement } from '../report/row.ts'

const MEDIAN_MS = 15
const WORST_MS = 60
/** Text of English and code has about this many characters for each token. */
const CHARACTERS_PER_TOKEN = 4

/** Says at once what to run next, and remembers when it was asked. */
class PromptModel implements Model {
  readonly name = 'scripted:prompt'
  readonly contextTokens = 1_000_000
  readonly asked: number[] = []
  first: ModelRequest | null = null
  readonly #steps: number

  constructor(steps: number) {
    this.#steps = steps
  }

  call(request: ModelRequest): ReturnType<Model['call']> {
    this.asked.push(performance.now())
    this.first ??= request
    const { turn } = request
    const call =
      turn < this.#steps
        ? { name: 'bash', input: { command: `true ${turn}` } }
        : { name: 'submit', input: { summary: 'measured' } }
    const usage = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 }
    return Promise.resolve({ text: '', calls: [{ id: `call-${turn}`, ...call }], finish: 'tool-calls', usage })
  }
}

/** What the loop adds to a step: all of it but the model and the command, which are measured by themselves in turn. */
export async function measureSteps(context: BenchContext): Promise<Measurement[]> {
  const { rung, quick } = context
  const steps = quick ? 50 : 200
  await using sandbox = await context.create()
  await sandbox.files.write('/workspace/file', 'content\n')
  const plain = async (): Promise<number[]> => {
    const taken: number[] = []
    for (let index = 0; index < steps / 2; index++) taken.push(await timed(() => sandbox.exec(`true ${index}`)))
    return taken
  }
  const before = await plain()
  const model = new PromptModel(steps)
  await work(sandbox, model, steps)
  const commands = [...before, ...(await plain())]
  const command = median(commands)
  const samples = model.asked.slice(1, steps).map((at, index) => at - (model.asked[index] ?? at) - command)
  const common = { rung, unit: 'ms', floors: [] } as const
  return [
    { ...common, metric: 'what the agent adds to a step', samples, target: { kind: 'maximum', value: MEDIAN_MS } },
    {
      ...common,
      metric: 'what the agent adds to a step, 99th percentile',
      samples: [percentile(samples, 99)],
      target: { kind: 'maximum', value: WORST_MS },
    },
    tokensOf(model, rung),
  ]
}

/** Written down in a file, as a run is that can be taken up again. */
async function work(sandbox: Sandbox, model: Model, steps: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-bench-'))
  try {
    await using log = await FileEventLog.open(join(directory, 'log'))
    const run = await startAgent({ sandbox, model, log, task: 'Measure.', budget: { steps: steps + 10 } })
    await run.result
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** What every call pays for before it says anything of the task. */
function tokensOf({ first }: PromptModel, rung: Measurement['rung']): Measurement {
  const characters = first === null ? Number.NaN : first.system.length + JSON.stringify(first.tools).length
  return {
    rung,
    metric: 'instructions and tools in each call, by characters',
    unit: 'tokens',
    samples: [Math.round(characters / CHARACTERS_PER_TOKEN)],
    floors: [],
    target: { kind: 'maximum', value: 2500 },
  }
}
