/** What the choice knows of one layer of a simulcast. Times are monotonic milliseconds. */
export interface LayerState {
  readonly name: string
  /** Width times height of its pictures; 0 while unknown. */
  readonly area: number
  /** When a packet of it last came; null before the first. */
  readonly heardAt: number | null
}

/** How long the best layer is waited for at the beginning: what goes out first sets the size for good. */
const SETTLE_MS = 3_000
/** A layer is gone when nothing of it has come for this long, and something of another has. */
const GONE_MS = 700
/** A layer that has come back is taken again after so long without a break. */
const STEADY_MS = 3_000

/**
 * Chooses among the layers of a simulcast. Destinations get one size, that of the first choice, so layers larger than that
 * are no gain: the choice goes down when its layer is gone, and up again to the first one when that has been back for a while.
 */
export class LayerChoice {
  readonly #names: readonly string[]
  readonly #steadySince = new Map<string, number>()
  #firstAt: number | null = null
  #ceiling = Number.POSITIVE_INFINITY
  #current: string | null = null

  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** The layer that goes out; null while the best one is waited for. */
  get current(): string | null {
    return this.#current
  }

  /** Notes a packet of the layer. `heardAt` is that of the one before. */
  note(layer: LayerState, now: number): void {
    this.#firstAt ??= now
    const hadBreak = layer.heardAt === null || now - layer.heardAt > GONE_MS
    if (hadBreak || !this.#steadySince.has(layer.name)) this.#steadySince.set(layer.name, now)
  }

  /** The layer that should go out; it may be the current one. Null when there is none yet. */
  wanted(layers: readonly LayerState[], now: number): string | null {
    const known = layers.filter(({ area, heardAt }) => area > 0 && heardAt !== null)
    if (this.#current === null) {
      const isSettled =
        known.length === this.#names.length || (this.#firstAt !== null && now - this.#firstAt >= SETTLE_MS)
      return isSettled ? (best(known)?.name ?? null) : null
    }
    // After a break of the whole line, the layer that comes first does not prove that the others are gone.
    const witnesses = known.filter(({ name }) => name === this.#current || this.#steadyFor(name, now) >= GONE_MS)
    const newest = Math.max(...witnesses.map(({ heardAt }) => heardAt!))
    const there = known.filter(({ heardAt }) => newest - heardAt! < GONE_MS)
    const usable = there.filter(({ name }) => name === this.#current || this.#isSteady(name, now, there))
    const fitting = usable.filter(({ area }) => area <= this.#ceiling)
    return (best(fitting) ?? best(usable) ?? best(there))?.name ?? this.#current
  }

  /** A keyframe of the layer goes out. */
  take(layer: LayerState): void {
    this.#current = layer.name
    if (this.#ceiling === Number.POSITIVE_INFINITY) this.#ceiling = layer.area
  }

  /** While the current layer is there, another one has to prove itself. */
  #isSteady(name: string, now: number, there: readonly LayerState[]): boolean {
    if (!there.some((layer) => layer.name === this.#current)) return true
    return this.#steadyFor(name, now) >= STEADY_MS
  }

  #steadyFor(name: string, now: number): number {
    return now - (this.#steadySince.get(name) ?? now)
  }
}

function best(layers: readonly LayerState[]): LayerState | undefined {
  return layers.toSorted((one, other) => other.area - one.area)[0]
}
