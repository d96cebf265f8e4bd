import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { readHostFacts } from '../../host/facts.ts'
import { hostPaths } from '../../host/host.ts'
import { readHostTemplate } from '../../templates/host-template.ts'
import { DriverRegistry } from '../registry.ts'
import { AheadStock } from './ahead-stock.ts'

test('what cannot be started ahead of need is reported each time, and ends neither the process nor a dispose', async () => {
  const home = await mkdtemp(join(tmpdir(), 'hearth-ahead-'))
  const paths = hostPaths({ ...process.env, HEARTH_HOME: home })
  const problems: unknown[] = []
  const facts = { ...(await readHostFacts()), root: true }
  const { services } = new DriverRegistry(paths, facts, 0, (what, error) => void problems.push([what, String(error)]))
  const stock = new AheadStock(() => Promise.reject(new Error('there is no runsc')))
  const template = await readHostTemplate(paths)
  try {
    for (const count of [1, 2]) {
      expect(stock.take(template, services)).toBeNull()
      await vi.waitFor(() => expect(problems).toHaveLength(count))
    }
    expect(problems[0]).toEqual(['starting gVisor ahead of restores', 'Error: there is no runsc'])
    await expect(stock.fill(template, services)).rejects.toThrow('there is no runsc')
    await stock.dispose()
  } finally {
    await rm(home, { recursive: true, force: true })
  }
})
