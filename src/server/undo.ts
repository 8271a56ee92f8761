import type { Logger } from '../core/log.ts'

/** Undoes what was started, in reverse order. A failed step does not keep the others from running. */
export class Undo {
  readonly #steps: { readonly name: string; readonly run: () => Promise<void> | void }[] = []
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  add(name: string, run: () => Promise<void> | void): void {
    this.#steps.push({ name, run })
  }

  async all(): Promise<void> {
    for (const { name, run } of this.#steps.splice(0).toReversed()) {
      try {
        await run()
      } catch (error) {
        this.#log.error({ error, step: name }, 'a step of the shutdown failed')
      }
    }
  }
}
