import { expect } from 'vitest'
import { collectOutput, output, scratch, text } from '../support/expectations.ts'
import type { Suite } from '../support/suite.ts'

export function describeConcurrency(suite: Suite): void {
  suite.test('200 commands at once', { timeoutMs: 120_000 }, async (sandbox) => {
    const results = await Promise.all(
      Array.from(
        { length: 200 },
        async (_, index) => await sandbox.exec(`echo out ${index}; echo err ${index} >&2; exit ${index % 7}`),
      ),
    )
    for (const [index, result] of results.entries()) {
      expect(result).toMatchObject({ stdout: `out ${index}\n`, stderr: `err ${index}\n`, exitCode: index % 7 })
    }
  })

  suite.test(
    '100 commands that all live at the same time',
    { needs: ['processes'], timeoutMs: 120_000 },
    async (sandbox) => {
      const gate = scratch('gate')
      const waiting = Array.from(
        { length: 100 },
        async (_, index) => await sandbox.exec(`until [ -e ${gate} ]; do sleep 0.3; done; echo ${index}`),
      )
      await sandbox.files.write(gate, '')
      const results = await Promise.all(waiting)
      expect(results.map((result) => text(result))).toEqual(Array.from({ length: 100 }, (_, index) => String(index)))
    },
  )

  suite.test('many files at once', { timeoutMs: 60_000 }, async (sandbox) => {
    const root = scratch('parallel')
    const content = (index: number): string => `${index} `.repeat(10_000)
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => await sandbox.files.write(`${root}/${index}`, content(index))),
    )
    const read = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => await sandbox.files.readText(`${root}/${index}`)),
    )
    expect(read).toEqual(Array.from({ length: 50 }, (_, index) => content(index)))
  })

  suite.test('a flood that is read holds nobody up', { needs: ['processes'], timeoutMs: 60_000 }, async (sandbox) => {
    await using flood = await sandbox.spawn('yes')
    let flooded = 0
    const reading = (async () => {
      for await (const chunk of flood.output) flooded += chunk.data.length
    })()
    for (let index = 0; index < 5; index++) expect(await output(sandbox, `echo ${index}`)).toBe(String(index))
    await flood.kill()
    await reading
    expect(flooded).toBeGreaterThan(100_000)
  })

  suite.test('ten streams share fairly', { needs: ['processes'], timeoutMs: 60_000 }, async (sandbox) => {
    const processes = await Promise.all(
      Array.from({ length: 10 }, async () => await sandbox.spawn('exec cat /dev/zero')),
    )
    // From when all have begun, which takes its time where each is a connection of its own.
    let begun = 0
    const read = processes.map(() => 0)
    await Promise.all(
      processes.map(async (process, index) => {
        let isFirst = true
        for await (const chunk of process.output) {
          if (begun === processes.length) read[index] = (read[index] ?? 0) + chunk.data.length
          if (isFirst && ++begun === processes.length) {
            setTimeout(() => void Promise.all(processes.map(async (each) => await each.kill())), 2000)
          }
          isFirst = false
        }
      }),
    )
    expect(Math.min(...read)).toBeGreaterThan(0)
    expect(Math.max(...read) / Math.min(...read)).toBeLessThan(4)
  })

  suite.plain('several sandboxes at once know nothing of each other', { timeoutMs: 120_000 }, async () => {
    const sandboxes = await Promise.all(Array.from({ length: 4 }, async () => await suite.options.create()))
    try {
      expect(new Set(sandboxes.map((sandbox) => sandbox.id)).size).toBe(4)
      await Promise.all(sandboxes.map(async (sandbox, index) => await sandbox.files.write('/tmp/mine', String(index))))
      const read = await Promise.all(sandboxes.map(async (sandbox) => await sandbox.files.readText('/tmp/mine')))
      expect(read).toEqual(['0', '1', '2', '3'])
    } finally {
      await Promise.all(sandboxes.map(async (sandbox) => await sandbox.kill()))
    }
  })

  suite.test(
    'a process and its reader end together however they are stopped',
    { needs: ['processes'] },
    async (sandbox) => {
      const processes = await Promise.all(Array.from({ length: 10 }, async () => await sandbox.spawn('yes')))
      const readers = processes.map(async (process) => await collectOutput(process))
      await Promise.all(processes.map(async (process) => await process.kill()))
      await Promise.all(readers)
      const exits = await Promise.all(processes.map(async (process) => await process.wait()))
      expect(exits.every((exit) => exit.signal === 'SIGKILL')).toBe(true)
    },
  )
}
