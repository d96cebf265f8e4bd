import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CODES } from './bpf.ts'
import { POLICY, ruleFor } from './policy.ts'
import { ERRNO, UNKNOWN_SYSCALL, type Action, type Comparison } from './policy-types.ts'
import { SYSCALL_NUMBERS, syscallNumber, type Architecture } from './syscall-numbers.ts'
import { RETURNS, toBpf } from './to-bpf.ts'
import { toOciSeccomp } from './to-oci-seccomp.ts'

const ARCHITECTURES = ['x86_64', 'aarch64'] as const
const AUDIT = { x86_64: 0xc000_003e, aarch64: 0xc000_00b7 } as const
const MAXIMUM_ARGUMENT = 0xffff_ffff_ffff_ffffn

/** Runs a filter as the kernel would; `data` is a struct seccomp_data. */
function interpret(program: Buffer, data: Buffer): number {
  let accumulator = 0
  for (let at = 0, steps = 0; steps < 4096; steps++, at += 8) {
    const code = program.readUInt16LE(at)
    const value = program.readUInt32LE(at + 4)
    if (code === CODES.load) accumulator = data.readUInt32LE(value)
    else if (code === CODES.and) accumulator = (accumulator & value) >>> 0
    else if (code === CODES.jump) at += 8 * value
    else if (code === CODES.equal) at += 8 * program.readUInt8(at + (accumulator === value ? 2 : 3))
    else if (code === CODES.atLeast) at += 8 * program.readUInt8(at + (accumulator >= value ? 2 : 3))
    else if (code === CODES.return) return value
    else throw new TypeError(`instruction ${code} is not one that the emitter makes`)
  }
  throw new RangeError('the filter does not end')
}

function seccompData(number: number, audit: number, callArguments: readonly bigint[]): Buffer {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(number, 0)
  data.writeUInt32LE(audit, 4)
  for (const [index, value] of callArguments.entries()) data.writeBigUInt64LE(value, 16 + 8 * index)
  return data
}

function holds({ argument, mask, value }: Comparison, callArguments: readonly bigint[]): boolean {
  return ((callArguments[argument] ?? 0n) & BigInt(mask)) === BigInt(value)
}

/** What the policy itself says, without an emitter. */
function decide(name: string, callArguments: readonly bigint[]): Action {
  const { cases, otherwise } = ruleFor(name)
  return cases.find(({ when }) => when.every((comparison) => holds(comparison, callArguments)))?.action ?? otherwise
}

/** What libseccomp makes of the OCI form, whatever the order in which it looks at the entries. */
function decideByOci(name: string, architecture: Architecture, callArguments: readonly bigint[]): Action {
  const matching = toOciSeccomp(architecture).syscalls.filter(
    ({ names, args }) =>
      names.includes(name) &&
      (args ?? []).every(({ index, value, valueTwo }) =>
        holds({ argument: index, mask: value, value: valueTwo }, callArguments),
      ),
  )
  const actions = new Set(matching.map(({ action, errnoRet }) => (action === 'SCMP_ACT_ALLOW' ? 'allow' : errnoRet)))
  expect(actions.size, `${name}: entries that contradict each other`).toBeLessThanOrEqual(1)
  const [found] = actions
  if (found === undefined) return UNKNOWN_SYSCALL
  if (found === 'allow') return 'allow'
  return (Object.keys(ERRNO) as (keyof typeof ERRNO)[]).find((key) => ERRNO[key] === found) ?? UNKNOWN_SYSCALL
}

function returnOf(action: Action): number {
  return action === 'allow' ? RETURNS.allow : RETURNS.errno | ERRNO[action]
}

/** Numbers that the policy compares with, and their neighbours, so that random arguments meet the cases. */
const interesting = POLICY.flatMap(({ cases }) =>
  cases.flatMap(({ when }) => when.flatMap(({ value, mask }) => [value, mask, value + 1])),
)
const callArgument = fc.oneof(
  fc.constantFrom(...interesting.map(BigInt)),
  fc.constantFrom(...interesting.map((value) => BigInt(value) | (1n << 32n))),
  fc.bigInt({ min: 0n, max: MAXIMUM_ARGUMENT }),
)

describe('seccomp policy', () => {
  it('names each call once, and only calls that exist', () => {
    const names = POLICY.flatMap((rule) => rule.names)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    expect(names.filter((name) => !SYSCALL_NUMBERS.has(name))).toEqual([])
  })

  it.each(ARCHITECTURES)('is the same in both forms on %s', (architecture) => {
    const program = toBpf(architecture)
    fc.assert(
      fc.property(
        fc.constantFrom(...SYSCALL_NUMBERS.keys()),
        fc.array(callArgument, { minLength: 6, maxLength: 6 }),
        (name, values) => {
          const expected = decide(name, values)
          const rule = ruleFor(name)
          // What the cases refuse has the default errno in the OCI form.
          const falls = rule.cases.length > 0 && expected !== 'allow'
          const inOci = falls ? UNKNOWN_SYSCALL : expected
          expect(decideByOci(name, architecture, values), `${name} ${values.join()}`).toBe(inOci)
          const number = syscallNumber(name, architecture)
          if (number === null) return
          expect(interpret(program, seccompData(number, AUDIT[architecture], values)), `${name} ${values.join()}`).toBe(
            returnOf(expected),
          )
        },
      ),
      { numRuns: 3000 },
    )
  })

  it.each(ARCHITECTURES)('decides every number on %s as the policy does', (architecture) => {
    const program = toBpf(architecture)
    const byNumber = new Map([...SYSCALL_NUMBERS.keys()].map((name) => [syscallNumber(name, architecture), name]))
    for (let number = 0; number < 600; number++) {
      const name = byNumber.get(number)
      const expected = name === undefined ? UNKNOWN_SYSCALL : decide(name, [])
      expect(interpret(program, seccompData(number, AUDIT[architecture], [])), `${number} ${name}`).toBe(
        returnOf(expected),
      )
    }
  })

  it('refuses x32 numbers and kills callers of another architecture', () => {
    const program = toBpf('x86_64')
    const write = syscallNumber('write', 'x86_64') ?? 0
    expect(interpret(program, seccompData(write | 0x4000_0000, AUDIT.x86_64, []))).toBe(RETURNS.errno | ERRNO.ENOSYS)
    expect(interpret(program, seccompData(write, 0x4000_0003, []))).toBe(RETURNS.killProcess)
    expect(interpret(program, seccompData(write, AUDIT.aarch64, []))).toBe(RETURNS.killProcess)
  })

  it('is short', () => {
    expect(toBpf('x86_64').length / 8).toBeLessThan(300)
  })
})
