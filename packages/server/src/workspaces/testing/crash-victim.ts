// For tests: a server that is killed with -9 at a step of its work on workspaces. Arguments: the home, the step, and the repository.
import type { Caller } from '../../control-plane.ts'
import { NEVER, TestServer } from '../../lifecycle/test-server.ts'

const [home = '', fatal = '', path = ''] = process.argv.slice(2)
const server = await TestServer.start(home, {
  onStep: (name) => {
    if (name === fatal) process.kill(process.pid, 'SIGKILL')
  },
})
const caller: Caller = { ...(await server.caller()), scopes: new Set(['admin', 'operator', 'workspaces']) }
const call = (key: string) => ({ idempotencyKey: key, signal: NEVER })
const { workspaces } = server.plane

const { id } = await workspaces.create(caller, { path }, call('create'))
process.stdout.write(`${id}\n`)
const sandbox = await server.create({ workspace: id })
await server.run(sandbox.id, 'echo changed >README.md')
await server.plane.delete(caller, sandbox.id)
await workspaces.commit(caller, id, { message: 'm' }, call('commit'))
await workspaces.push(caller, id, {}, call('push'))
const again = await server.create({ workspace: id })
await server.run(again.id, 'echo once more >README.md')
await server.plane.delete(caller, again.id)
await workspaces.collect(caller, { unusedMs: 0, dirty: true })
await workspaces.remove(caller, id)
// A step that never comes is the test's to notice.
process.exit(7)
