import { request } from 'node:http'
import type { Readable } from 'node:stream'
import { makeTicket } from './ticket.ts'

/** A media node did not give a preview. */
export class PreviewRefusedError extends Error {
  override readonly name = 'PreviewRefusedError'
  /** `gone`: it does not have the stream; `full`: enough are watching; `unreachable`: everything else. */
  readonly reason: 'gone' | 'full' | 'unreachable'

  constructor(reason: PreviewRefusedError['reason'], cause?: unknown) {
    super(`the media node gave no preview: ${reason}`, { cause })
    this.reason = reason
  }
}

const ANSWER_MS = 3_000
const REASONS: Readonly<Record<number, PreviewRefusedError['reason']>> = { 404: 'gone', 503: 'full' }

/**
 * Opens the FLV stream of a live ingest at a media node. Destroying the readable ends it there too.
 * @param address `host:port` of the node's previews
 * @throws PreviewRefusedError
 */
export function openPreview(address: string, streamId: string, key: Uint8Array): Promise<Readable> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${makeTicket(key, streamId, new Date().getTime())}` }
    const asked = request(`http://${address}/preview/${streamId}`, { headers, agent: false })
    const timer = setTimeout(() => asked.destroy(new Error('no answer in time')), ANSWER_MS)
    asked.once('error', (error) => {
      clearTimeout(timer)
      reject(new PreviewRefusedError('unreachable', error))
    })
    asked.once('response', (response) => {
      clearTimeout(timer)
      if (response.statusCode === 200) {
        resolve(response)
        return
      }
      response.destroy()
      reject(new PreviewRefusedError(REASONS[response.statusCode ?? 0] ?? 'unreachable'))
    })
    asked.end()
  })
}
