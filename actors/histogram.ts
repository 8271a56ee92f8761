/** A histogram: `counts[i]` observations were at most `bounds[i]` and above the bound before. The last count is the rest. */
export interface HistogramData {
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly sum: number
  readonly count: number
}

/** Counts observations in fixed buckets. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0
  #count = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    let index = 0
    while (index < this.#bounds.length && value > (this.#bounds[index] as number)) index += 1
    this.#counts[index] = (this.#counts[index] as number) + 1
    this.#sum += value
    this.#count += 1
  }

  data(): HistogramData {
    return { bounds: this.#bounds, counts: [...this.#counts], sum: this.#sum, count: this.#count }
  }
}

/** Milliseconds. */
export const LATENCY_BOUNDS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000]
export const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64]
