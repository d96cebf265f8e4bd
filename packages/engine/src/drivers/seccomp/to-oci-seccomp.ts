import { allBut } from './all-but.ts'
import { POLICY } from './policy.ts'
import { ERRNO, UNKNOWN_SYSCALL, type Action, type Comparison, type Rule } from './policy-types.ts'
import type { Architecture } from './syscall-numbers.ts'

interface OciArgument {
  readonly index: number
  readonly value: number
  readonly valueTwo: number
  readonly op: 'SCMP_CMP_MASKED_EQ'
}

export interface OciSyscall {
  readonly names: readonly string[]
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO'
  readonly errnoRet?: number
  readonly args?: readonly OciArgument[]
}

/** `linux.seccomp` of an OCI bundle, which crun, runc, runsc and Docker understand. */
export interface OciSeccomp {
  readonly defaultAction: 'SCMP_ACT_ERRNO' | 'SCMP_ACT_ALLOW'
  readonly defaultErrnoRet?: number
  readonly architectures: readonly string[]
  readonly syscalls: readonly OciSyscall[]
}

export const ARCHITECTURE_NAMES = { x86_64: 'SCMP_ARCH_X86_64', aarch64: 'SCMP_ARCH_AARCH64' } as const

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
 * libseccomp has no "otherwise" and no order of cases, so only what is allowed is written down. The rest falls to the
 * default action: it is refused as in the BPF form, with one errno for all.
 */
function conditional(): OciSyscall[] {
  return POLICY.filter(({ cases }) => cases.length > 0).flatMap(({ names, cases, otherwise }) =>
    allowedWhen({ cases, otherwise }).map((when) => ({ names, ...ociAction('allow'), args: when.map(ociArgument) })),
  )
}

function allowedWhen({ cases, otherwise }: Pick<Rule, 'cases' | 'otherwise'>): (readonly Comparison[])[] {
  const allowed = cases.filter(({ action }) => action === 'allow').map(({ when }) => when)
  if (otherwise !== 'allow') return allowed
  const refused = cases.filter(({ action }) => action !== 'allow').flatMap(({ when }) => when.slice(0, 1))
  const rest = allBut(refused[0]?.argument ?? 0, refused)
  return [...allowed, ...rest.map((comparison) => [comparison])]
}

export function ociArgument({ argument, mask, value }: Comparison): OciArgument {
  return { index: argument, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' }
}

function ociAction(action: Action): Pick<OciSyscall, 'action' | 'errnoRet'> {
  return action === 'allow' ? { action: 'SCMP_ACT_ALLOW' } : { action: 'SCMP_ACT_ERRNO', errnoRet: ERRNO[action] }
}
