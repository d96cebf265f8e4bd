import { allBut } from './all-but.ts'
import { POLICY } from './policy.ts'
import type { Comparison } from './policy-types.ts'
import type { Architecture } from './syscall-numbers.ts'
import { ARCHITECTURE_NAMES, ociArgument, type OciSeccomp, type OciSyscall } from './to-oci-seccomp.ts'

/**
 * Stays: gVisor answers every refusal with EPERM, and the C library falls back from clone3 on ENOSYS alone. A namespace
 * that is made this way is one of gVisor's own kernel, and mounting or joining in it is refused as everywhere.
 */
const KEPT: ReadonlySet<string> = new Set(['clone3'])

/**
 * The refusals of the policy alone, for gVisor, which is itself the boundary: its own kernel implements what is allowed
 * and knows nothing of the rest. The whole allowlist would cost a fifth of the time that a sandbox needs to start.
 */
export function toGvisorSeccomp(architecture: Architecture): OciSeccomp {
  const refused = POLICY.filter(({ cases, otherwise }) => cases.length === 0 && otherwise !== 'allow')
  const names = refused.flatMap((rule) => rule.names).filter((name) => !KEPT.has(name))
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    architectures: [ARCHITECTURE_NAMES[architecture]],
    syscalls: [{ names, action: 'SCMP_ACT_ERRNO' }, ...conditional()],
  }
}

/** A call that is allowed with none of some flags is refused with each of them, and one that is allowed with one value with all others; a case that refuses is taken as it is. */
function conditional(): OciSyscall[] {
  return POLICY.flatMap(({ names, cases, otherwise }) => {
    const only = cases.length === 1 ? cases[0]?.when : undefined
    const flags = otherwise !== 'allow' && only?.length === 1 && only[0] !== undefined ? unless(only[0]) : []
    const refusing = cases.filter(({ action }) => action !== 'allow').map(({ when }) => when)
    return [...flags.map((flag) => [flag]), ...refusing].map((when): OciSyscall => ({
      names,
      action: 'SCMP_ACT_ERRNO',
      args: when.map(ociArgument),
    }))
  })
}

function unless(allowed: Comparison): Comparison[] {
  return allowed.value === 0 ? bitsOf(allowed) : allBut(allowed.argument, [allowed])
}

function bitsOf({ argument, mask }: Comparison): Comparison[] {
  return Array.from({ length: 32 }, (_, index) => 2 ** index)
    .filter((bit) => (mask & bit) !== 0)
    .map((bit) => ({ argument, mask: bit, value: bit }))
}
