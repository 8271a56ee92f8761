/** The state of a simulcast layer. Times are monotonic milliseconds. */
export interface LayerState {
  readonly name: string
  /** Width times height of its frames; 0 while unknown. */
  readonly area: number
  /** When its last packet came; null before the first. */
  readonly lastPacketAt: number | null
}

/** How long to wait for all layers at the start. The first selected layer sets the output size for good. */
const SETTLE_MS = 3_000
/** A layer is gone if no packet of it came for this long while packets of another layer did. */
const GONE_MS = 700
/** A layer that returns is selected again after this long without a gap. */
const STEADY_MS = 3_000

/**
 * Selects a layer of a simulcast. Destinations get the size of the first selected layer, so larger layers are not selected
 * later. If the selected layer is gone, the next lower one is selected. When a better layer has been back for a while, it is
 * selected again.
 */
export class LayerSelector {
  readonly #names: readonly string[]
  readonly #steadySince = new Map<string, number>()
  #firstAt: number | null = null
  /** Area of the first selected layer. */
  #maxArea = Number.POSITIVE_INFINITY
  #current: string | null = null

  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** The layer that is sent; null while waiting for layers at the start. */
  get current(): string | null {
    return this.#current
  }

  /** Records a packet of the layer. To be called before `lastPacketAt` is updated. */
  onPacket(layer: LayerState, now: number): void {
    this.#firstAt ??= now
    const hadGap = layer.lastPacketAt === null || now - layer.lastPacketAt > GONE_MS
    if (hadGap || !this.#steadySince.has(layer.name)) this.#steadySince.set(layer.name, now)
  }

  /** The layer that should be sent, which can be the current one. Null if there is none yet. */
  target(layers: readonly LayerState[], now: number): string | null {
    const known = layers.filter(({ area, lastPacketAt }) => area > 0 && lastPacketAt !== null)
    if (this.#current === null) {
      const isSettled =
        known.length === this.#names.length || (this.#firstAt !== null && now - this.#firstAt >= SETTLE_MS)
      return isSettled ? (best(known)?.name ?? null) : null
    }
    // After an outage of the connection, the first layer to return does not prove that the others are gone.
    const references = known.filter(({ name }) => name === this.#current || this.#steadyFor(name, now) >= GONE_MS)
    const newest = Math.max(...references.map(({ lastPacketAt }) => lastPacketAt!))
    const present = known.filter(({ lastPacketAt }) => newest - lastPacketAt! < GONE_MS)
    const usable = present.filter(({ name }) => name === this.#current || this.#isSteady(name, now, present))
    const fitting = usable.filter(({ area }) => area <= this.#maxArea)
    return (best(fitting) ?? best(usable) ?? best(present))?.name ?? this.#current
  }

  /** Makes a layer the current one. To be called when a keyframe of it is sent. */
  switchTo(layer: LayerState): void {
    this.#current = layer.name
    if (this.#maxArea === Number.POSITIVE_INFINITY) this.#maxArea = layer.area
  }

  /** Whether a layer can be selected. While the current layer is present, it must have sent without a gap for a while. */
  #isSteady(name: string, now: number, present: readonly LayerState[]): boolean {
    if (!present.some((layer) => layer.name === this.#current)) return true
    return this.#steadyFor(name, now) >= STEADY_MS
  }

  #steadyFor(name: string, now: number): number {
    return now - (this.#steadySince.get(name) ?? now)
  }
}

function best(layers: readonly LayerState[]): LayerState | undefined {
  return layers.toSorted((left, right) => right.area - left.area)[0]
}
