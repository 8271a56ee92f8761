import { PlayoutError } from './errors.ts'

/** Samples of one track in memory, 25 bytes each. Enough for 20 hours at 60 frames per second. */
const MAX_SAMPLES = 4_500_000

/** Offsets, sizes and times of a track's samples in decoding order. Times are in units of the track's timescale. */
export class SampleTable {
  length = 0
  #decodeTimes = new Float64Array(1_024)
  #offsets = new Float64Array(1_024)
  #sizes = new Uint32Array(1_024)
  #compositions = new Int32Array(1_024)
  #keyframes = new Uint8Array(1_024)
  #leastComposition = 0

  /** Appends a sample. @throws PlayoutError when there are too many */
  add(decodeTime: number, offset: number, size: number, composition: number, isKeyframe: boolean): void {
    if (this.length === this.#sizes.length) this.#grow()
    const index = this.length
    this.#decodeTimes[index] = decodeTime
    this.#offsets[index] = offset
    this.#sizes[index] = size
    this.#compositions[index] = composition
    this.#keyframes[index] = isKeyframe ? 1 : 0
    if (composition < this.#leastComposition) this.#leastComposition = composition
    this.length += 1
  }

  decodeTime(index: number): number {
    return this.#decodeTimes[index] ?? 0
  }

  offset(index: number): number {
    return this.#offsets[index] ?? 0
  }

  size(index: number): number {
    return this.#sizes[index] ?? 0
  }

  /** Composition time offset: presentation time minus decoding time. */
  composition(index: number): number {
    return this.#compositions[index] ?? 0
  }

  isKeyframe(index: number): boolean {
    return this.#keyframes[index] === 1
  }

  /**
   * Moves decoding times back so that no composition time offset is negative, because RTMP players may not support
   * negative ones. Presentation times stay the same. `ctts` version 1 has negative offsets.
   *
   * @returns by how much decoding times were moved
   */
  removeNegativeCompositions(): number {
    const least = this.#leastComposition
    if (least === 0) return 0
    this.#leastComposition = 0
    for (let index = 0; index < this.length; index += 1) {
      this.#decodeTimes[index] = this.decodeTime(index) + least
      this.#compositions[index] = this.composition(index) - least
    }
    return -least
  }

  /** Index of the last sample at or before a decoding time; 0 if there is none. */
  at(decodeTime: number): number {
    let low = 0
    let high = this.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.decodeTime(middle) <= decodeTime) low = middle
      else high = middle - 1
    }
    return low
  }

  #grow(): void {
    if (this.length >= MAX_SAMPLES) throw new PlayoutError('The file is too long to be streamed.')
    const size = Math.min(this.length * 2, MAX_SAMPLES)
    this.#decodeTimes = enlarged(this.#decodeTimes, new Float64Array(size))
    this.#offsets = enlarged(this.#offsets, new Float64Array(size))
    this.#sizes = enlarged(this.#sizes, new Uint32Array(size))
    this.#compositions = enlarged(this.#compositions, new Int32Array(size))
    this.#keyframes = enlarged(this.#keyframes, new Uint8Array(size))
  }
}

function enlarged<T extends Float64Array | Uint32Array | Int32Array | Uint8Array>(from: T, to: T): T {
  to.set(from)
  return to
}
