const LANES = 2

/** Gathers what many ask for at about the same time into one call: while two are under way, the next fills up. */
export class Batcher<I, O> {
  readonly #work: (inputs: readonly I[]) => Promise<readonly O[]>
  readonly #most: number
  #waiting: { readonly input: I; readonly resolve: (output: O) => void; readonly reject: (error: unknown) => void }[] =
    []
  #busy = 0

  /** @param work answers every input, in order */
  constructor(most: number, work: (inputs: readonly I[]) => Promise<readonly O[]>) {
    this.#most = most
    this.#work = work
  }

  run(input: I): Promise<O> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject })
      if (this.#busy === LANES) return
      this.#busy += 1
      // The others of this turn of the event loop come along.
      setImmediate(() => void this.#drain())
    })
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#most)
      try {
        const outputs = await this.#work(batch.map(({ input }) => input))
        for (const [index, { resolve }] of batch.entries()) resolve(outputs[index] as O)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#busy -= 1
  }
}
