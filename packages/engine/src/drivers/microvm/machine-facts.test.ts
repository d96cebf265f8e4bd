import { describe, expect, test } from 'vitest'
import { compareFacts, machineFacts } from './machine-facts.ts'
import type { MachineParts } from './machine-plan.ts'

const GiB = 1024 ** 3
const parts: MachineParts = {
  qemu: {
    program: '/usr/bin/qemu',
    version: '10.0.2',
    build: '',
    firmware: '/rom',
    bubblewrap: '/bwrap',
    privateMemory: true,
  },
  kernel: { release: '6.1', image: '/k', digest: 'k', directory: '/', modules: [], volumeModules: [] },
  initramfs: { path: '/i', digest: 'i' },
  accelerator: { kind: 'tcg', tscKhz: 2_600_000 },
  guest: '/guest',
  cache: '/cache',
}
const limits = { memoryBytes: GiB / 2, cpus: 1, diskBytes: GiB }
const host = { root: true, cgroups: { kind: 'none', reason: '' }, cores: 4 } as const

function facts(
  changes: Partial<typeof limits> = {},
  other: Partial<MachineParts> = {},
  base = 'image',
  volumes = false,
) {
  return machineFacts({ ...parts, ...other }, { ...limits, ...changes }, { baseIdentity: base, volumes }, host)
}

describe('the facts of a machine', () => {
  test('are the same for the same machine, also after a rounding', async () => {
    const accelerator = { kind: 'tcg', tscKhz: 2_599_998 } as const
    compareFacts(await facts(), await facts({ cpus: 0.5, memoryBytes: GiB / 2 - 10 }, { accelerator }))
  })

  test.each([
    ['memory', async () => await facts({ memoryBytes: GiB }), /memory in MiB \(512 there, 1024 here\)/],
    ['processors', async () => await facts({ cpus: 3 }), /number of processors \(1 there, 3 here\)/],
    ['the disk', async () => await facts({ diskBytes: 2 * GiB }), /disk size/],
    ['the image', async () => await facts({}, {}, 'made anew'), /disk image of the template \(image there, made anew/],
    ['QEMU', async () => await facts({}, { qemu: { ...parts.qemu, version: '11.1' } }), /QEMU version \(10.0.2 there/],
    ['devices', async () => await facts({}, { qemu: { ...parts.qemu, firmware: '/other' } }), /device layout/],
    ['volumes', async () => await facts({}, {}, 'image', true), /device layout/],
    [
      'the host’s clock',
      async () => await facts({}, { accelerator: { kind: 'tcg', tscKhz: 3_000_000 } }),
      /processor \(emulated, 2.6 GHz there, emulated, 3 GHz here\)/,
    ],
    ['an unknown fact', async () => ({ ...(await facts()), new: 1 }), /new \(none there, 1 here\)/],
  ])('name %s when it differs', async (_, here, expected) => {
    const captured = await facts()
    const found = await here()
    expect(() => compareFacts(captured, found)).toThrow(expected)
    const suggestion = expect.stringContaining('memory: "none"') as unknown
    expect(() => compareFacts(captured, found)).toThrow(
      expect.objectContaining({ code: 'snapshot_incompatible', suggestion }),
    )
  })
})
