import type { McpServer } from '@modelcontextprotocol/server'

/** Of those that had ended already nothing comes any more: they are forgotten for others. */
const MOST_EARLY = 1000

/** The calls of one client, which it may take back. */
export interface OlderClient {
  /** Aborts when the client takes this call back. */
  begin(id: string | number): { readonly signal: AbortSignal } & Disposable
  takeBack(id: string | number): void
}

/**
 * Clients of older revisions take a call back in a request of its own. Which client it is of is told by the identifier that each is given
 * with the answer to its first request, and sends with all that follow.
 */
export class OlderCalls {
  readonly #calls = new Map<string, AbortController>()
  /** Taken back, and not seen: the two requests come by connections of their own, and either may be the first. Oldest first. */
  readonly #early = new Set<string>()

  /** `client`: what nobody else can say: the key and the identifier together. */
  of(client: string): OlderClient {
    const nameOf = (id: string | number): string => JSON.stringify([client, id])
    return {
      begin: (id) => {
        const name = nameOf(id)
        const controller = new AbortController()
        if (this.#early.delete(name)) controller.abort()
        else this.#calls.set(name, controller)
        const end = (): void => {
          if (this.#calls.get(name) === controller) this.#calls.delete(name)
        }
        return { signal: controller.signal, [Symbol.dispose]: end }
      },
      takeBack: (id) => {
        const call = this.#calls.get(nameOf(id))
        if (call === undefined) this.#remember(nameOf(id))
        else call.abort()
      },
    }
  }

  #remember(name: string): void {
    this.#early.add(name)
    const [oldest] = this.#early
    if (this.#early.size > MOST_EARLY && oldest !== undefined) this.#early.delete(oldest)
  }
}

/** This request has a server of its own, which knows of no other: the call is looked for among those of the client. */
export function takesBack(server: McpServer, client: OlderClient): void {
  server.server.setNotificationHandler('notifications/cancelled', ({ params }) => {
    if (params.requestId !== undefined) client.takeBack(params.requestId)
  })
}
