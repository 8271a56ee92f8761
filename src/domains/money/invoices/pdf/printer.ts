import { Piscina } from 'piscina'
import type { PdfInput } from './thread.ts'

/** Longer than any invoice takes. */
const TIMEOUT_MS = 30_000
const IDLE_MS = 60_000
const MAX_WAITING = 100

/** Makes PDFs in a thread, one at a time. The thread starts with the first one, and ends when none are asked for. */
export class InvoicePrinter {
  readonly #fonts: readonly string[]
  #pool: Piscina | undefined

  /** @param fonts folders with more fonts */
  constructor(fonts: readonly string[]) {
    this.#fonts = fonts
  }

  async print(input: Omit<PdfInput, 'fonts'>): Promise<Buffer> {
    this.#pool ??= new Piscina({
      filename: new URL('thread.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: 1,
      maxQueue: MAX_WAITING,
      idleTimeout: IDLE_MS,
    })
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const bytes = (await this.#pool.run({ ...input, fonts: this.#fonts }, { name: 'makePdf', signal })) as Uint8Array
    return Buffer.from(bytes)
  }

  async close(): Promise<void> {
    await this.#pool?.destroy()
  }
}
