/** How often an endpoint that is never idle looks for retries and replays, in case a notice was lost. */
const LOOK_MS = 5_000

/** An endpoint that this node serves, and what was heard about it since its last step. */
export class Served {
  readonly id: string
  /** Known once the endpoint is claimed. */
  workspaceId: string | undefined
  /** The newest event of the workspace that was heard of. */
  newest = 0
  /** The webhook was changed: its row must be read again. */
  isChanged = false
  #isNudged = true
  #lookedAt = 0
  #wake: (() => void) | undefined

  constructor(id: string) {
    this.id = id
  }

  /** Whether retries and replays are to be looked for now. */
  get mustLook(): boolean {
    return this.#isNudged || performance.now() - this.#lookedAt > LOOK_MS
  }

  looked(): void {
    this.#isNudged = false
    this.#lookedAt = performance.now()
  }

  /** A retry or replay is due. */
  nudge(): void {
    this.#isNudged = true
    this.#wake?.()
  }

  hear(newest: number): void {
    this.newest = Math.max(this.newest, newest)
    this.#wake?.()
  }

  /** Waits until something is heard. @returns whether it was, within the time */
  rest(cursor: number, ms: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#isNudged || this.isChanged || this.newest > cursor) {
        resolve(true)
        return
      }
      const end = (isHeard: boolean) => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
        this.#wake = undefined
        resolve(isHeard)
      }
      const stop = () => end(false)
      const timer = setTimeout(stop, ms)
      this.#wake = () => end(true)
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
    })
  }
}

/** The endpoints that this node serves. What is heard of them here wakes them without a query. */
export class ServedEndpoints {
  readonly #byId = new Map<string, Served>()
  readonly #byWorkspace = new Map<string, Set<Served>>()

  get ids(): string[] {
    return [...this.#byId.keys()]
  }

  /** @returns undefined if the endpoint is served already. It looks for work then */
  begin(id: string): Served | undefined {
    if (this.nudge(id)) return undefined
    const served = new Served(id)
    this.#byId.set(id, served)
    return served
  }

  claimed(served: Served, workspaceId: string): void {
    served.workspaceId = workspaceId
    const others = this.#byWorkspace.get(workspaceId) ?? new Set()
    this.#byWorkspace.set(workspaceId, others.add(served))
  }

  end(served: Served): void {
    this.#byId.delete(served.id)
    if (served.workspaceId === undefined) return
    const others = this.#byWorkspace.get(served.workspaceId)
    others?.delete(served)
    if (others?.size === 0) this.#byWorkspace.delete(served.workspaceId)
  }

  has(id: string): boolean {
    return this.#byId.has(id)
  }

  /** @returns whether the endpoint is served here */
  nudge(id: string): boolean {
    const served = this.#byId.get(id)
    served?.nudge()
    return served !== undefined
  }

  /** Events up to this number were committed. */
  hear(workspaceId: string, newest: number): void {
    for (const served of this.#byWorkspace.get(workspaceId) ?? []) served.hear(newest)
  }

  /** A webhook of the workspace was changed, or of any one. The workspace of an endpoint is unknown while it is claimed. */
  changed(workspaceId: string | undefined): void {
    for (const served of this.#byId.values()) {
      if (![undefined, served.workspaceId].includes(workspaceId) && served.workspaceId !== undefined) continue
      served.isChanged = true
      served.nudge()
    }
  }
}
