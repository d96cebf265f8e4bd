/** One instruction of classic BPF, as the kernel's seccomp takes them: code, two short jumps, one number. */
export interface Instruction {
  readonly code: number
  readonly whenTrue: number
  readonly whenFalse: number
  readonly value: number
}

export const CODES = { load: 0x20, and: 0x54, jump: 0x05, equal: 0x15, atLeast: 0x35, return: 0x06 } as const

const LONGEST_SHORT_JUMP = 255
export const LONGEST_PROGRAM = 4096
const INSTRUCTION_BYTES = 8

export function load(offset: number): Instruction {
  return { code: CODES.load, whenTrue: 0, whenFalse: 0, value: offset }
}

export function and(mask: number): Instruction {
  return { code: CODES.and, whenTrue: 0, whenFalse: 0, value: mask }
}

export function returnValue(value: number): Instruction {
  return { code: CODES.return, whenTrue: 0, whenFalse: 0, value }
}

export function skipIfEqual(value: number, count: number): Instruction {
  return { code: CODES.equal, whenTrue: shortJump(count), whenFalse: 0, value }
}

export function skipUnlessEqual(value: number, count: number): Instruction {
  return { code: CODES.equal, whenTrue: 0, whenFalse: shortJump(count), value }
}

/** Both ways must end with a return. */
export function jumpIfAtLeast(
  value: number,
  then: readonly Instruction[],
  otherwise: readonly Instruction[],
): Instruction[] {
  const distance = otherwise.length
  if (distance <= LONGEST_SHORT_JUMP) {
    return [{ code: CODES.atLeast, whenTrue: distance, whenFalse: 0, value }, ...otherwise, ...then]
  }
  const far = { code: CODES.jump, whenTrue: 0, whenFalse: 0, value: distance }
  return [{ code: CODES.atLeast, whenTrue: 0, whenFalse: 1, value }, far, ...otherwise, ...then]
}

function shortJump(count: number): number {
  if (count > LONGEST_SHORT_JUMP) throw new RangeError(`a conditional jump over ${count} instructions is too long`)
  return count
}

export function encode(program: readonly Instruction[]): Buffer {
  if (program.length > LONGEST_PROGRAM) throw new RangeError(`a filter of ${program.length} instructions is too long`)
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES)
  for (const [index, { code, whenTrue, whenFalse, value }] of program.entries()) {
    const at = index * INSTRUCTION_BYTES
    bytes.writeUInt16LE(code, at)
    bytes.writeUInt8(whenTrue, at + 2)
    bytes.writeUInt8(whenFalse, at + 3)
    bytes.writeUInt32LE(value >>> 0, at + 4)
  }
  return bytes
}
