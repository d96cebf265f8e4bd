// For tests: a server that is killed with -9 at a step of its work. Arguments: the home, the step, and a word for calls without a key.
import { NEVER, TestServer } from './test-server.ts'

const [home = '', fatal = '', unkeyed] = process.argv.slice(2)
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

const key = unkeyed === undefined ? 'key' : null
const call = { idempotencyKey: key, signal: NEVER }

/** What is done to a sandbox until the server dies of it; what comes before `armed` it survives. */
const SCENARIOS: Readonly<Record<string, (subject: string) => Promise<unknown>>> = {
  pause: (subject) => whenArmed(() => server.plane.pause(caller, subject)),
  resume: async (subject) => {
    await server.plane.pause(caller, subject)
    await whenArmed(() => server.plane.resume(caller, subject))
  },
  hibernate: (subject) => whenArmed(() => server.plane.sleep.hibernate(caller, subject, {})),
  wake: async (subject) => {
    await server.plane.sleep.hibernate(caller, subject, {})
    await whenArmed(() => server.run(subject, 'true'))
  },
  stop: (subject) => whenArmed(() => server.plane.stop(caller, subject)),
  delete: (subject) => whenArmed(() => server.plane.delete(caller, subject)),
  renew: (subject) => whenArmed(() => server.plane.renew(caller, subject, 1_200_000)),
  snapshot: (subject) => whenArmed(() => server.plane.copies.snapshot(caller, subject, { name: 'taken' }, call)),
  remove: async (subject) => {
    await server.plane.copies.snapshot(caller, subject, { name: 'taken' }, call)
    await whenArmed(() => server.plane.snapshots.remove(caller, 'taken'))
  },
  import: async (subject) => {
    await server.plane.copies.snapshot(caller, subject, { name: 'taken' }, call)
    const content = server.plane.snapshots.export(caller, 'taken')
    await whenArmed(() =>
      server.plane.snapshots.import(caller, { name: 'brought', content, declaredBytes: null, signal: NEVER }),
    )
  },
  volume: () => whenArmed(() => server.plane.volumes.create(caller, { name: 'made' }, call)),
  unvolume: async () => {
    await server.plane.volumes.create(caller, { name: 'made' }, call)
    await whenArmed(() => server.plane.volumes.remove(caller, 'made'))
  },
  fork: (subject) => whenArmed(() => server.plane.copies.fork(caller, subject, { count: 2 }, call)),
  merge: async (subject) => {
    const { children } = await server.plane.copies.fork(caller, subject, { count: 1 }, call)
    const child = children[0]?.id ?? ''
    await server.run(child, 'echo made >/tmp/made')
    answered('child', child)
    await whenArmed(() => server.plane.copies.merge(caller, subject, { child }, NEVER))
  },
}

async function whenArmed(work: () => Promise<unknown>): Promise<void> {
  armed = true
  await work()
}

const scenario = SCENARIOS[fatal.split(':')[0] ?? '']
if (scenario !== undefined) {
  await server.plane.volumes.create(caller, { name: 'data' }, { idempotencyKey: null, signal: NEVER })
  const subject = await server.create({ ttlMs: 600_000, volumes: [{ volume: 'data', path: '/data' }] })
  await server.run(subject.id, 'echo kept | tee /tmp/kept >/data/kept')
  answered('subject', subject.id)
  await scenario(subject.id)
} else {
  armed = true
  const created = await Promise.all([server.create({}, 'key'), server.create()])
  for (const { id } of created) answered('created', id)
}
// A step that never comes is the test's to notice.
process.exit(7)
