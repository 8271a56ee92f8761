import type { Caller } from './caller.ts'

/** An event of a workspace with a sequence number. */
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
  readonly generation: string
}

export interface EventsOptions {
  /** The sequence number of the last event that was received; without it, only new events are delivered. */
  readonly after?: number
  /** The `generation` that came with `after`. */
  readonly generation?: string
  readonly onEvent: (event: NumberedEvent) => void
  /**
   * Called when the server no longer has the events after the client's last one, or another database has taken over that
   * may lack events which the client has: all data must be loaded again.
   */
  readonly onReset?: () => void
}

/** How many numbers are kept to detect duplicates. */
const MAX_SEEN = 2_000

/** Follows the events of a workspace. None is lost or delivered twice, even if the connection breaks. */
export class EventFollower {
  readonly #caller: Caller
  readonly #workspaceId: string
  readonly #options: EventsOptions
  #after: number | undefined
  #generation: string | undefined
  /** Events up to this number are not requested. */
  #from: number
  /** The numbers of the last delivered events. */
  readonly #seen = new Set<number>()
  #early: NumberedEvent[] | undefined
  #again = false

  constructor(caller: Caller, workspaceId: string, options: EventsOptions) {
    this.#caller = caller
    this.#workspaceId = workspaceId
    this.#options = options
    this.#after = options.after
    this.#generation = options.generation
    this.#from = options.after ?? 0
  }

  /** The number to continue from. */
  get after(): number | undefined {
    return this.#after
  }

  /** What `after` belongs to, as the server has named it. */
  get generation(): string | undefined {
    return this.#generation
  }

  receive(event: NumberedEvent): void {
    if (this.#early) this.#early.push(event)
    else this.#give(event)
  }

  /** Requests missed events. */
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
      const position = { after, ...(this.#generation !== undefined && { generation: this.#generation }) }
      const page = (await this.#caller.ask('resume', {
        workspaceId: this.#workspaceId,
        ...position,
        limit: 100,
      })) as Page & { readonly lastSeq: number }
      this.#generation = page.generation
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
    if (this.#seen.size > MAX_SEEN) {
      const [oldest] = this.#seen
      if (oldest !== undefined) this.#seen.delete(oldest)
    }
    this.#after = Math.max(event.seq, this.#after ?? 0)
    this.#options.onEvent(event)
  }
}
