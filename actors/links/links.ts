import type { NodeOwnership, LinkStats } from '../types.ts'
import { Link } from './link.ts'
import type { LinkSettings } from './settings.ts'

/** The client ends of links: one per address, opened on the first call. */
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

  /** Closes links to other addresses when they have no calls in progress. */
  keep(addresses: ReadonlySet<string>): void {
    for (const link of this.#links.values()) {
      if (!addresses.has(link.address) && link.inFlight === 0) link.close()
    }
  }

  /** The actors that a node owns; undefined if it does not reply in time. */
  async owners(address: string, withinMs: number): Promise<NodeOwnership['actors'] | undefined> {
    return new Promise((resolve) => {
      const link = this.to(address)
      const cancel = this.#settings.clock.after(withinMs, () => {
        link.forget(id)
        resolve(undefined)
      })
      const id = link.requestOwners((result) => {
        cancel()
        resolve(result.kind === 'value' ? (JSON.parse(result.text) as NodeOwnership['actors']) : undefined)
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
