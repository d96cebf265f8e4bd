// Tries five fixes side by side, each in a fork of one warm machine, and keeps the one that passes in a clean fork.
import { checks, search } from '@hearth/agent'
import { Hearth } from 'hearth'

await using hearth = new Hearth()
await using base = await hearth.create({ rung: 'process' })
await base.files.write('/workspace/largest.sh', 'sort | head -n 1\n')
await base.files.write('/workspace/tests/words.txt', 'pear\napple\n')
await base.files.write('/workspace/tests/numbers.txt', '9\n10\n')

const fix = (pipeline: string): { name: string; command: string } => ({
  name: pipeline,
  command: `echo '${pipeline}' > largest.sh`,
})
const report = await search({
  base,
  workdir: '/workspace',
  candidates: [
    fix('sort | tail -n 1'),
    fix('sort -r | head -n 1'),
    fix('sort -n | tail -n 1'),
    fix('tail -n 1'),
    { name: 'change the test', command: "printf '9\\n9\\n' > tests/numbers.txt" },
  ],
  judge: checks({
    words: 'test "$(sh largest.sh < tests/words.txt)" = pear',
    numbers: 'test "$(sh largest.sh < tests/numbers.txt)" = 10',
  }),
})

console.log(`on the base ${report.base.failing.join(' and ')} fails`)
for (const { name, outcome, unfixed, broken } of report.candidates) {
  const why = [...unfixed.map((check) => `${check} still fails`), ...broken.map((check) => `${check} fails now`)]
  console.log(`${outcome}: ${name}${why.length === 0 ? '' : ` (${why.join(', ')})`}`)
}
console.log(report.winner === null ? report.reason : `winner: ${report.winner.name}`)
