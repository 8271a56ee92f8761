import type { Logger } from '../core/log.ts'

const AT_ONCE = 4
const WAITING = 500

/**
 * Work that a reply does not wait for, so that its duration tells a caller nothing. Bounded; what is too much is
 * dropped and logged, because all of it can be asked for again.
 */
export class Background {
  readonly #log: Logger
  readonly #waiting: (() => Promise<void>)[] = []
  readonly #underWay = new Set<Promise<void>>()

  constructor(log: Logger) {
    this.#log = log
  }

  run(name: string, work: () => Promise<void>): void {
    if (this.#waiting.length >= WAITING) {
      this.#log.error({ work: name }, 'dropped: too much waits to be done')
      return
    }
    this.#waiting.push(async () => {
      try {
        await work()
      } catch (error) {
        this.#log.error({ error, work: name }, 'work after a reply failed')
      }
    })
    this.#next()
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  #next(): void {
    while (this.#underWay.size < AT_ONCE) {
      const work = this.#waiting.shift()
      if (work === undefined) return
      const running = work().finally(() => {
        this.#underWay.delete(running)
        this.#next()
      })
      this.#underWay.add(running)
    }
  }
}
