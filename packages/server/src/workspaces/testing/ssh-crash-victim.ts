// For tests: a server that asks for a repository over ssh until it is killed. Arguments: the home and the address; the key is in HEARTH_TEST_KEY.
import type { Caller } from '../../control-plane.ts'
import { NEVER, TestServer } from '../../lifecycle/test-server.ts'

const [home = '', url = ''] = process.argv.slice(2)
const server = await TestServer.start(home)
const caller: Caller = { ...(await server.caller()), scopes: new Set(['admin', 'operator', 'workspaces']) }
const binding = { name: '127.0.0.1', placement: { in: 'ssh' as const } }
const value = process.env['HEARTH_TEST_KEY'] ?? ''
await server.store.secrets.put(caller.tenantId, { name: 'deploy', value, binding })
const { repositories } = server.plane
const { id } = await repositories.add(caller, { url, secret: 'deploy' }, { idempotencyKey: null, signal: NEVER })
await repositories.fetch(caller, id, NEVER)
// It was not killed in time, which is the test's to notice.
process.exit(7)
