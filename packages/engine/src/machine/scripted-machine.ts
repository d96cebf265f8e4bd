// For tests: a machine over a scripted guest.
import type { ScriptedPeer } from '../link/scripted-peer.ts'
import { LinkMachine } from './link-machine.ts'
import type { MachineEnd } from './machine.ts'

/** The machine, and how often it was killed. */
export function scriptedMachine(peer: ScriptedPeer): { machine: LinkMachine; kills: () => number } {
  let kills = 0
  const ended = Promise.withResolvers<MachineEnd>()
  const machine = new LinkMachine({
    link: peer.link,
    kill: async () => {
      kills++
      ended.resolve({ reason: 'killed', detail: 'killed' })
    },
    release: async () => {},
    ended: ended.promise,
  })
  return { machine, kills: () => kills }
}
