import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BINARY, HearthCommand } from './hearth-command.ts'
import { typeInto } from './terminal-session.ts'

let hearth: HearthCommand
beforeAll(async () => void (hearth = await HearthCommand.create()))
afterAll(async () => await hearth[Symbol.asyncDispose]())

describe('shell', () => {
  it('is a terminal with a size, an interrupt and an exit code', async () => {
    const { code, screen } = await typeInto(
      hearth,
      `stty rows 33 cols 91; exec ${BINARY} shell --rung process --env PS1='ready> ' -- bash --norc`,
      [
        [/ready> $/, 'tty; stty size; sh -c "echo sleeping; exec sleep 100"\r'],
        [/^sleeping\r+\n/m, '\u0003'],
        [/\^C\r+\n.*ready> $/s, 'exit 23\r'],
      ],
    )
    expect(screen).toMatch(/\/dev\/pts\/\d+\r+\n33 91\r+\n/)
    expect(code).toBe(23)
  })

  it('follows a resize', async () => {
    const wait = 'echo waiting; while [ "$(stty size)" != "40 100" ]; do sleep 0.05; done; echo resized'
    const { code, screen } = await typeInto(
      hearth,
      `stty rows 20 cols 80; (sleep 2; stty rows 40 cols 100 </dev/tty) & exec ${BINARY} shell -q --rung process -- sh -c '${wait}'`,
      [],
    )
    expect(screen).toContain('resized')
    expect(code).toBe(0)
  })

  it('refuses a rung without terminals', async () => {
    const { code, screen } = await typeInto(hearth, `exec ${BINARY} shell --rung simulated`, [])
    expect(code).toBe(125)
    expect(screen).toMatch(/terminal/)
  })
})
