import { Worker } from 'node:worker_threads'

/** Scalar's browser script, gzip-compressed. It is loaded on first use and cached. A failed load is retried. */
export class DocsScript {
  #made: Promise<Uint8Array> | undefined

  compressed(): Promise<Uint8Array> {
    this.#made ??= make().catch((error: unknown) => {
      this.#made = undefined
      throw error
    })
    return this.#made
  }
}

function make(): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('docs-script-worker.ts', import.meta.url))
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the thread that reads the script exited with code ${code}`)))
  })
}
