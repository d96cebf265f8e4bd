// Lets three attempts of an agent work side by side in forks of one warm machine, and keeps the change that passes in clean ones.
// The models are scripts here; `openModel('anthropic:claude-sonnet-5-5')` gives a real one.
import { bestOf, checks, ScriptedModel, SharedBudget, variations } from '@hearth/agent'
import { Hearth } from 'hearth'

await using hearth = new Hearth()
await using base = await hearth.create({ rung: 'process' })
await base.files.write('/workspace/leap.sh', 'test $(($1 % 4)) = 0\n')
await base.files.write('/workspace/tests/years.sh', 'sh leap.sh 2024 && ! sh leap.sh 2023\n')
await base.files.write('/workspace/tests/centuries.sh', 'sh leap.sh 2000 && ! sh leap.sh 1900\n')

/** Writes what it thinks is right, and submits it. */
const writing = (content: string): ScriptedModel =>
  new ScriptedModel([
    { calls: [{ tool: 'write', input: { path: 'leap.sh', content: `${content}\n` } }] },
    { calls: [{ tool: 'submit', input: { summary: 'The rule of centuries is in it.' } }] },
  ])
const models = [
  writing('test $(($1 % 4)) = 0 && test $(($1 % 100)) != 0'),
  writing('test "$1" = 2000 || test $(($1 % 400)) = 0'),
  writing('test $(($1 % 4)) = 0 && test $(($1 % 100)) != 0 || test $(($1 % 400)) = 0'),
]

const report = await bestOf({
  base,
  workdir: '/workspace',
  task: 'Centuries are no leap years, unless they can be divided by 400.',
  attempts: variations(3, { models }),
  judge: checks({ years: 'sh tests/years.sh', centuries: 'sh tests/centuries.sh' }),
  targets: ['centuries'],
  // Of all attempts together.
  shared: new SharedBudget({ steps: 20, tokens: 100_000, dollars: 1, wallTimeMs: 60_000 }),
})

for (const { name, outcome, unfixed, broken } of report.candidates) {
  const why = [...unfixed.map((check) => `${check} still fails`), ...broken.map((check) => `${check} fails now`)]
  console.log(`${name}: ${outcome}${why.length === 0 ? '' : ` (${why.join(', ')})`}`)
}
console.log(`winner: ${report.winner?.name ?? 'none'}, ${report.spent?.steps} steps in all`)
