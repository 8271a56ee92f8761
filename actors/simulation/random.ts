import type { RandomSource } from '../ports.ts'

/** Pseudorandom numbers that depend only on a seed (sfc32). */
export class SeededRandom implements RandomSource {
  #a: number
  #b: number
  #c: number
  #d = 1

  constructor(seed: number) {
    this.#a = seed | 0
    this.#b = (seed / 2 ** 32) | 0
    this.#c = 0x9e37_79b9 | 0
    for (let round = 0; round < 12; round += 1) this.#next()
  }

  #next(): number {
    const t = (this.#a + this.#b + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + t
    return t >>> 0
  }

  fraction(): number {
    return this.#next() / 2 ** 32
  }

  bytes(count: number): Uint8Array {
    const bytes = new Uint8Array(count)
    for (let index = 0; index < count; index += 1) bytes[index] = this.#next() & 0xff
    return bytes
  }

  between(low: number, high: number): number {
    return low + this.fraction() * (high - low)
  }

  integer(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1))
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(items: readonly T[]): T {
    return items[this.integer(0, items.length - 1)] as T
  }
}
