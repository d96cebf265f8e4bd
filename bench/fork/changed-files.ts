import { openStore, type EmbeddedSandbox } from '@hearth/engine'
import { timed, type BenchContext } from '../context.ts'
import { treeCopyFloors } from '../floors/tree-copies.ts'
import { inTurn } from '../floors/named-floor.ts'
import { median, type Floor, type Measurement, type Target } from '../report/row.ts'
import { measureChildCosts } from './child-costs.ts'
import { forkOnce } from './fork-once.ts'

const DIRECTORIES = 100
const FILES_EACH = 500
const CHANGED = 100
const FORK_TARGET: Target = { kind: 'ratio', value: 1.3 }
const DIFF_TARGET: Target = { kind: 'maximum', value: 150 }

const FILL = `mkdir /tmp/many && cd /tmp/many && for d in $(seq ${DIRECTORIES}); do
  mkdir $d && (cd $d && seq ${FILES_EACH} | split -l 1 -a 3 - f) || exit 1
done`
const CHANGE = `cd /tmp/many && for d in $(seq ${CHANGED}); do echo changed > $d/faaa || exit 1; done`

/** A fork of a sandbox that has changed many files, next to one that has changed none, and the diff of its child. */
export async function measureChangedFiles(context: BenchContext): Promise<Measurement[]> {
  const { rung, quick, capabilities } = context
  const sharesKernel = rung === 'process' || rung === 'container'
  // Writing so many files takes a kernel of its own a minute.
  if (!capabilities.processes || (quick && !sharesKernel)) return []
  await using small = await context.create()
  await using large = await context.create()
  await run(large, FILL)
  for (const parent of [small, large]) await forkOnce(context, parent, 1)
  const pauses = { small: [] as number[], large: [] as number[] }
  const answered = async (parent: EmbeddedSandbox): Promise<number> => {
    const { pausedMs, answeredMs } = await forkOnce(context, parent, 1)
    pauses[parent === small ? 'small' : 'large'].push(pausedMs)
    return answeredMs
  }
  const floor = { name: 'nothing changed', sample: () => answered(small) }
  const taken = await inTurn(context.rounds, [floor], () => answered(large))
  const files = (DIRECTORIES * FILES_EACH).toLocaleString('en')
  return [
    {
      rung,
      metric: `fork into 1, first output, ${files} files changed`,
      unit: 'ms',
      samples: taken.samples,
      floors: [...taken.floors, ...(await copies(context, large))],
      target: sharesKernel ? FORK_TARGET : null,
    },
    {
      rung,
      metric: `fork into 1, pause of the parent, ${files} files changed`,
      unit: 'ms',
      samples: pauses.large,
      floors: [{ name: floor.name, samples: pauses.small }],
      target: null,
    },
    ...(await measureChildCosts(context, large, 1, `, ${files} files changed`)),
    {
      rung,
      metric: `diff of ${CHANGED} changed among ${files} files`,
      unit: 'ms',
      samples: await diffs(context, large),
      floors: [],
      target: sharesKernel ? DIFF_TARGET : null,
    },
  ]
}

/** The same files copied by the store's file system and by `cp`. */
async function copies(context: BenchContext, large: EmbeddedSandbox): Promise<Floor[]> {
  const { hearth, quick } = context
  if ((await openStore(hearth.paths)).kind !== 'btrfs') return []
  context.progress(`${context.rung}: copies of the same files`)
  const floors: Floor[] = []
  for (const { name, sample } of treeCopyFloors(hearth.paths, large)) {
    const samples = [await sample()]
    // Long ones are as steady as they need to be.
    while (samples.length < (quick || median(samples) > 500 ? 2 : 10)) samples.push(await sample())
    floors.push({ name, samples })
  }
  return floors
}

async function diffs(context: BenchContext, large: EmbeddedSandbox): Promise<number[]> {
  const samples: number[] = []
  await forkOnce(context, large, 1, {
    answered: async ([child]) => {
      if (child === undefined) throw new Error('the fork gave no child')
      await run(child, CHANGE)
      for (let round = 0; round < context.rounds; round++) {
        let found = 0
        samples.push(
          await timed(async () => {
            found = (await child.diff({ paths: ['/tmp/many'] })).filter(({ type }) => type === 'file').length
          }),
        )
        if (found !== CHANGED) throw new Error(`the diff has ${found} files, not ${CHANGED}`)
      }
    },
  })
  return samples
}

async function run(sandbox: EmbeddedSandbox, script: string): Promise<void> {
  const { exitCode, stderr } = await sandbox.exec(script, { timeoutMs: 300_000 })
  if (exitCode !== 0) throw new Error(`the sandbox could not be prepared: ${stderr}`)
}
