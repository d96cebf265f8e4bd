// For tests: a server that is killed with -9 at a step of its work. Arguments: the home and the step.
import { TestServer } from './test-server.ts'

const [home = '', fatal = ''] = process.argv.slice(2)
let armed = fatal.startsWith('recovery:')

/** One line for each thing that a client was answered. */
function answered(name: string, value: string): void {
  process.stdout.write(`${name} ${value}\n`)
}

const server = await TestServer.start(home, {
  onStep: (name) => {
    if (armed && name === fatal) process.kill(process.pid, 'SIGKILL')
  },
})
if (armed) await server.plane.recovered

const caller = await server.caller()
const bystander = await server.create({ ttlMs: 600_000 })
using use = await server.plane.use(caller, bystander.id)
const ticker = await use.sandbox.spawn('i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done')
answered('ticker', String(ticker.id))
answered('bystander', bystander.id)

const scenario = fatal.split(':')[0]
if (scenario !== 'create') {
  const subject = await server.create({ ttlMs: 600_000 })
  await server.run(subject.id, 'echo kept >/tmp/kept')
  answered('subject', subject.id)
  if (scenario === 'resume') await server.plane.pause(caller, subject.id)
  armed = true
  if (scenario === 'pause') await server.plane.pause(caller, subject.id)
  if (scenario === 'resume') await server.plane.resume(caller, subject.id)
  if (scenario === 'stop') await server.plane.stop(caller, subject.id)
  if (scenario === 'delete') await server.plane.delete(caller, subject.id)
  if (scenario === 'renew') await server.plane.renew(caller, subject.id, 1_200_000)
} else {
  armed = true
  const created = await Promise.all([server.create({}, 'key'), server.create()])
  for (const { id } of created) answered('created', id)
}
// A step that never comes is the test's to notice.
process.exit(7)
