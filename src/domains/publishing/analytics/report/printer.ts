import { Piscina } from 'piscina'
import { resumed } from '../../../../tools/work-time.ts'
import type { Achievement, SlotScores } from '../best-times/slots.ts'
import type { ReportModel } from './model.ts'

/** Longer than any report takes. */
const TIMEOUT_MS = 60_000
const IDLE_MS = 60_000
const MAX_WAITING = 50

/** Work of analytics that takes long: in one thread, which starts with the first task and ends when there are none. */
export class ReportPrinter {
  #pool: Piscina | undefined

  html(model: ReportModel): Promise<string> {
    return this.#run(model, 'reportHtml')
  }

  async pdf(model: ReportModel): Promise<Buffer> {
    return Buffer.from(await this.#run<Uint8Array>(model, 'reportPdf'))
  }

  scores(posts: readonly Achievement[]): Promise<SlotScores> {
    return this.#run(posts, 'scoreSlots')
  }

  async close(): Promise<void> {
    await this.#pool?.destroy()
  }

  async #run<T>(input: unknown, name: string): Promise<T> {
    this.#pool ??= new Piscina({
      filename: new URL('thread.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: 1,
      maxQueue: MAX_WAITING,
      idleTimeout: IDLE_MS,
    })
    const result = (await this.#pool.run(input, { name, signal: AbortSignal.timeout(TIMEOUT_MS) })) as T
    resumed()
    return result
  }
}
