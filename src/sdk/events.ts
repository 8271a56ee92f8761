import type { Caller } from './caller.ts'

/** An event of a workspace that has a number. */
export interface NumberedEvent {
  readonly seq: number
  readonly type: string
  readonly workspaceId: string
  readonly at: string
  readonly data: unknown
}

interface Page {
  readonly events: readonly Omit<NumberedEvent, 'workspaceId'>[]
  readonly after: number
  readonly hasMore: boolean
  readonly reset: boolean
}

export interface EventsOptions {
  /** The number of the last event that was seen; absent: from now on. */
  readonly after?: number
  readonly onEvent: (event: NumberedEvent) => void
  /** The server knows less than this client: everything must be loaded anew. */
  readonly onReset?: () => void
}

/** Numbers that are kept to know an event again. */
const MOST_SEEN = 2_000

/** Follows the events of a workspace: none is missed or given twice, whatever happens to the connection. */
export class EventFollower {
  readonly #caller: Caller
  readonly #workspaceId: string
  readonly #options: EventsOptions
  #after: number | undefined
  /** What came before is not asked for. */
  #from: number
  /** The numbers of the events that were given last. */
  readonly #seen = new Set<number>()
  #early: NumberedEvent[] | undefined
  #again = false

  constructor(caller: Caller, workspaceId: string, options: EventsOptions) {
    this.#caller = caller
    this.#workspaceId = workspaceId
    this.#options = options
    this.#after = options.after
    this.#from = options.after ?? 0
  }

  /** The number to go on from. */
  get after(): number | undefined {
    return this.#after
  }

  receive(event: NumberedEvent): void {
    if (this.#early) this.#early.push(event)
    else this.#give(event)
  }

  /** Asks for what was missed. */
  async resume(): Promise<void> {
    this.#again = true
    if (this.#early) return
    this.#early = []
    try {
      while (this.#again) {
        this.#again = false
        await this.#catchUp()
      }
    } finally {
      const early = this.#early
      this.#early = undefined
      for (const event of early.sort((a, b) => a.seq - b.seq)) this.#give(event)
    }
  }

  async #catchUp(): Promise<void> {
    for (let more = true; more;) {
      const after = this.#after ?? Number.MAX_SAFE_INTEGER
      const page = (await this.#caller.ask('resume', { workspaceId: this.#workspaceId, after, limit: 100 })) as Page & {
        readonly lastSeq: number
      }
      if (page.reset) {
        this.#seen.clear()
        const isFirst = this.#after === undefined
        this.#after = page.lastSeq
        this.#from = page.lastSeq
        if (!isFirst) this.#options.onReset?.()
        return
      }
      for (const event of page.events) this.#give({ ...event, workspaceId: this.#workspaceId })
      this.#after = Math.max(page.after, this.#after ?? 0)
      more = page.hasMore
    }
  }

  #give(event: NumberedEvent): void {
    if (event.seq <= this.#from || this.#seen.has(event.seq)) return
    this.#seen.add(event.seq)
    if (this.#seen.size > MOST_SEEN) {
      const [oldest] = this.#seen
      if (oldest !== undefined) this.#seen.delete(oldest)
    }
    this.#after = Math.max(event.seq, this.#after ?? 0)
    this.#options.onEvent(event)
  }
}
