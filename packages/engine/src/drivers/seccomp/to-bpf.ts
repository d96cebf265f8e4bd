import { and, encode, jumpIfAtLeast, load, returnValue, skipIfEqual, skipUnlessEqual, type Instruction } from './bpf.ts'
import { POLICY } from './policy.ts'
import { ERRNO, UNKNOWN_SYSCALL, type Action, type Case, type Rule } from './policy-types.ts'
import { syscallNumber, type Architecture } from './syscall-numbers.ts'

/** Offsets in struct seccomp_data. Both architectures are little endian: the low half of an argument comes first. */
const NUMBER_OFFSET = 0
const ARCHITECTURE_OFFSET = 4
const argumentOffset = (index: number): number => 16 + 8 * index

const AUDIT_ARCHITECTURES = { x86_64: 0xc000_003e, aarch64: 0xc000_00b7 } as const

export const RETURNS = { allow: 0x7fff_0000, errno: 0x0005_0000, killProcess: 0x8000_0000 } as const

/** Numbers with this bit belong to the x32 variant, a second way to call everything; it is not offered. */
const X32_BIT = 0x4000_0000

/** The policy as a program for the kernel: `struct sock_filter[]`, as bubblewrap and crun load it. */
export function toBpf(architecture: Architecture): Buffer {
  return encode(program(architecture))
}

function program(architecture: Architecture): Instruction[] {
  return [
    load(ARCHITECTURE_OFFSET),
    // A 32-bit program would reach other calls under the same numbers.
    skipIfEqual(AUDIT_ARCHITECTURES[architecture], 1),
    returnValue(RETURNS.killProcess),
    load(NUMBER_OFFSET),
    ...search(segments(architecture)),
  ]
}

/** From `start` up to the next segment's start, all calls have the same rule. */
interface Segment {
  readonly start: number
  readonly rule: Pick<Rule, 'cases' | 'otherwise'>
}

function segments(architecture: Architecture): Segment[] {
  const unknown = { cases: [], otherwise: UNKNOWN_SYSCALL } as const
  const rules = new Map<number, Rule>()
  for (const rule of POLICY) {
    for (const name of rule.names) {
      const number = syscallNumber(name, architecture)
      if (number !== null) rules.set(number, rule)
    }
  }
  const result: Segment[] = []
  const end = Math.max(...rules.keys()) + 1
  for (let start = 0; start <= end; start++) {
    const rule = rules.get(start) ?? unknown
    if (!sameRule(result.at(-1)?.rule, rule)) result.push({ start, rule })
  }
  // The last segment is "unknown" and reaches to the end; x32 numbers lie in it, and this says so.
  return [...result, { start: X32_BIT, rule: unknown }]
}

function sameRule(left: Segment['rule'] | undefined, right: Segment['rule']): boolean {
  if (left === undefined) return false
  return left.cases.length === 0 && right.cases.length === 0 && left.otherwise === right.otherwise
}

/** A binary search, so that each system call passes about eight comparisons. */
function search(list: readonly Segment[]): Instruction[] {
  const [only, second] = list
  if (only === undefined) throw new TypeError('a filter needs at least one segment')
  if (second === undefined) return [...only.rule.cases.flatMap(decide), returnValue(returnOf(only.rule.otherwise))]
  const middle = list.length >> 1
  const pivot = list[middle] ?? second
  return jumpIfAtLeast(pivot.start, search(list.slice(middle)), search(list.slice(0, middle)))
}

/** Returns the action when all comparisons hold, else goes on with what follows. */
function decide({ when, action }: Case): Instruction[] {
  return when.reduceRight<Instruction[]>(
    (matched, { argument, mask, value }) => [
      load(argumentOffset(argument)),
      ...(mask === 0xffff_ffff ? [] : [and(mask)]),
      skipUnlessEqual(value, matched.length),
      ...matched,
    ],
    [returnValue(returnOf(action))],
  )
}

function returnOf(action: Action): number {
  return action === 'allow' ? RETURNS.allow : RETURNS.errno | ERRNO[action]
}
