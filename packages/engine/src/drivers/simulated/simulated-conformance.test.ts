import { tmpdir } from 'node:os'
import { DEFAULT_LIMITS, newSandboxId, type Sandbox, type SandboxSpec } from '@hearth/contract'
import { describeDriver } from '@hearth/testing'
import { EmbeddedSandbox } from '../../sandbox/embedded-sandbox.ts'
import { readHostTemplate } from '../../templates/host-template.ts'
import { SimulatedDriver } from './simulated-driver.ts'

const driver = new SimulatedDriver()
const probe = await driver.probe()
if (!probe.available) throw new Error(probe.reason)

async function create(spec: SandboxSpec = {}): Promise<Sandbox> {
  const id = newSandboxId()
  const limits = { ...DEFAULT_LIMITS, ...(spec.limits as typeof DEFAULT_LIMITS | undefined) }
  const template = await readHostTemplate({ home: tmpdir() })
  const machine = await driver.launch({
    id,
    directory: tmpdir(),
    template,
    limits,
    hostname: spec.hostname ?? 'simulated',
    environment: { ...template.environment, ...spec.env },
    workdir: spec.workdir ?? '/home/user',
    user: '',
  })
  const info = {
    id,
    state: 'running',
    rung: 'simulated',
    driver: 'just-bash',
    template: 'host',
    createdAt: new Date(),
    expiresAt: new Date(Date.now() + (spec.ttlMs ?? 600_000)),
    parent: null,
    metadata: spec.metadata ?? {},
    limits,
  } as const
  return new EmbeddedSandbox(info, machine, { deadlineMoved: async () => undefined })
}

describeDriver({
  name: 'simulated',
  create,
  capabilities: probe.capabilities,
  skip: [{ test: 'bash keeps its state', reason: 'no interpreter can be talked to: input is taken as a whole' }],
})
