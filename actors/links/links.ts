import type { NodeOwnership, LinkStats } from '../types.ts'
import { Link } from './link.ts'
import type { LinkSettings } from './settings.ts'

/** The calling ends of links, one to each address, made when first needed. */
export class Links {
  readonly #settings: LinkSettings
  readonly #links = new Map<string, Link>()

  constructor(settings: LinkSettings) {
    this.#settings = settings
  }

  to(address: string): Link {
    let link = this.#links.get(address)
    if (link === undefined || link.closed) {
      const made = new Link(address, this.#settings, () => {
        if (this.#links.get(address) === made) this.#links.delete(address)
      })
      link = made
      if (!link.closed) this.#links.set(address, link)
    }
    return link
  }

  /** Closes links to nodes that are gone, when nobody waits on them. */
  keep(addresses: ReadonlySet<string>): void {
    for (const link of this.#links.values()) {
      if (!addresses.has(link.address) && link.inFlight === 0) link.close()
    }
  }

  /** What a node says it owns; undefined when it does not say so in time. */
  async owners(address: string, withinMs: number): Promise<NodeOwnership['actors'] | undefined> {
    return new Promise((resolve) => {
      const link = this.to(address)
      const cancel = this.#settings.clock.after(withinMs, () => {
        link.forget(id)
        resolve(undefined)
      })
      const id = link.askOwners((answer) => {
        cancel()
        resolve(answer.kind === 'value' ? (JSON.parse(answer.text) as NodeOwnership['actors']) : undefined)
      })
    })
  }

  get inFlight(): number {
    return [...this.#links.values()].reduce((sum, link) => sum + link.inFlight, 0)
  }

  stats(): LinkStats[] {
    return [...this.#links.values()].map((link) => link.stats())
  }

  close(): void {
    for (const link of this.#links.values()) link.close()
  }
}
