import type { Policy, RecordEntry, Secret } from '@hearth/contract'
import { ScriptedPeer } from '../link/scripted-peer.ts'
import { Dialer } from './dial/dialer.ts'
import { CompiledPolicy } from './policy/compiled-policy.ts'
import { SandboxGateway } from './sandbox-gateway.ts'
import { SandboxSecrets } from './secrets/sandbox-secrets.ts'

export interface ScriptedGateway {
  readonly peer: ScriptedPeer
  readonly gateway: SandboxGateway
  readonly entries: RecordEntry[]
}

/** A guest that says what the test wants, and the gateway of its sandbox. Every name leads to 127.0.0.1. */
export async function scriptedGateway(policy: Policy, secrets: readonly Secret[] = []): Promise<ScriptedGateway> {
  const entries: RecordEntry[] = []
  const gateway = new SandboxGateway({
    policy: new CompiledPolicy(policy),
    secrets: new SandboxSecrets(secrets),
    dialer: new Dialer(async () => ['127.0.0.1']),
    recorder: { add: (entry) => entries.push(entry) },
    extraRoots: [],
    ownHearth: null,
  })
  const peer = await ScriptedPeer.greeted()
  peer.link.serve(gateway)
  return { peer, gateway, entries }
}
