// Warms a machine once, tries several things in copies of it, and takes the files of the best one back.
import { Hearth } from 'hearth'

await using hearth = new Hearth()
await using parent = await hearth.create({ workdir: '/tmp' })

// What takes long is done once: every fork begins with it.
await parent.exec('mkdir /tmp/work && ls -l /usr/bin > /tmp/work/data')

const attempts = ['gzip -1', 'gzip -4', 'gzip -9']
const { children } = await parent.fork(attempts.length)
const results = await Promise.all(
  children.map(async (child, index) => {
    const attempt = attempts[index] ?? ''
    const { exitCode } = await child.exec(
      `${attempt} --stdout /tmp/work/data > /tmp/work/packed && echo '${attempt}' > /tmp/work/how`,
    )
    const { size } = await child.files.stat('/tmp/work/packed')
    return { child, attempt, size: exitCode === 0 ? size : Infinity }
  }),
)
const [best] = results.toSorted((left, right) => left.size - right.size)
if (best === undefined) throw new Error('there is no attempt')

for (const { path, change } of await best.child.diff({ paths: ['/tmp/work'] })) console.log(`${change} ${path}`)
const { applied, conflicts } = await parent.merge(best.child, { paths: ['/tmp/work'] })
console.log(`${best.attempt} is best: ${applied.length} merged, ${conflicts.length} conflicts`)
console.log(`the parent has it: ${(await parent.files.readText('/tmp/work/how')).trim()}`)

await Promise.all(children.map((child) => child.kill()))
