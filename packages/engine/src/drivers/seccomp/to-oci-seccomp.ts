import { POLICY } from './policy.ts'
import { ERRNO, UNKNOWN_SYSCALL, type Action, type Case, type Comparison } from './policy-types.ts'
import type { Architecture } from './syscall-numbers.ts'

interface OciArgument {
  readonly index: number
  readonly value: number
  readonly valueTwo: number
  readonly op: 'SCMP_CMP_MASKED_EQ'
}

interface OciSyscall {
  readonly names: readonly string[]
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO'
  readonly errnoRet?: number
  readonly args?: readonly OciArgument[]
}

/** `linux.seccomp` of an OCI bundle, which crun, runc, runsc and Docker understand. */
export interface OciSeccomp {
  readonly defaultAction: 'SCMP_ACT_ERRNO'
  readonly defaultErrnoRet: number
  readonly architectures: readonly string[]
  readonly syscalls: readonly OciSyscall[]
}

const ARCHITECTURE_NAMES = { x86_64: 'SCMP_ARCH_X86_64', aarch64: 'SCMP_ARCH_AARCH64' } as const

export function toOciSeccomp(architecture: Architecture): OciSeccomp {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: ERRNO[UNKNOWN_SYSCALL as keyof typeof ERRNO],
    architectures: [ARCHITECTURE_NAMES[architecture]],
    syscalls: [...unconditional(), ...conditional()],
  }
}

/** One entry per action, so that the file is short. What has the default action anyway is left out: runc refuses it. */
function unconditional(): OciSyscall[] {
  const byAction = new Map<Action, string[]>()
  for (const rule of POLICY.filter(({ cases, otherwise }) => cases.length === 0 && otherwise !== UNKNOWN_SYSCALL)) {
    byAction.set(rule.otherwise, [...(byAction.get(rule.otherwise) ?? []), ...rule.names])
  }
  return [...byAction].map(([action, names]) => ({ names, ...ociAction(action) }))
}

/**
 * libseccomp has no "otherwise": it is a comparison that always holds. libseccomp tries comparisons with more mask
 * bits first, so that it comes last, as it must.
 */
function conditional(): OciSyscall[] {
  return POLICY.filter(({ cases }) => cases.length > 0).flatMap(({ names, cases, otherwise }) => {
    const argument = cases[0]?.when[0]?.argument ?? 0
    const last: Case = { when: [{ argument, mask: 0, value: 0 }], action: otherwise }
    return [...cases, last].map(({ when, action }) => ({ names, ...ociAction(action), args: when.map(ociArgument) }))
  })
}

function ociArgument({ argument, mask, value }: Comparison): OciArgument {
  return { index: argument, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' }
}

function ociAction(action: Action): Pick<OciSyscall, 'action' | 'errnoRet'> {
  return action === 'allow' ? { action: 'SCMP_ACT_ALLOW' } : { action: 'SCMP_ACT_ERRNO', errnoRet: ERRNO[action] }
}
