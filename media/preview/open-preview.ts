import { request } from 'node:http'
import type { Readable } from 'node:stream'
import { makeTicket } from './ticket.ts'

/** A media node refused a preview, or did not respond. */
export class PreviewRefusedError extends Error {
  override readonly name = 'PreviewRefusedError'
  /** `gone`: the node does not have the stream. `full`: the viewer limit is reached. `unreachable`: any other failure. */
  readonly reason: 'gone' | 'full' | 'unreachable'

  constructor(reason: PreviewRefusedError['reason'], cause?: unknown) {
    super(`the media node did not send the preview: ${reason}`, { cause })
    this.reason = reason
  }
}

const RESPONSE_TIMEOUT_MS = 3_000
const REASONS: Readonly<Record<number, PreviewRefusedError['reason']>> = { 404: 'gone', 503: 'full' }

/**
 * Opens the FLV preview of a stream on a media node. Destroying the readable ends the preview on the node too.
 * @param address `host:port` of the node's preview server
 * @throws PreviewRefusedError
 */
export function openPreview(address: string, streamId: string, key: Uint8Array): Promise<Readable> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${makeTicket(key, streamId, new Date().getTime())}` }
    const outgoing = request(`http://${address}/preview/${streamId}`, { headers, agent: false })
    const timer = setTimeout(() => outgoing.destroy(new Error('no response in time')), RESPONSE_TIMEOUT_MS)
    outgoing.once('error', (error) => {
      clearTimeout(timer)
      reject(new PreviewRefusedError('unreachable', error))
    })
    outgoing.once('response', (response) => {
      clearTimeout(timer)
      if (response.statusCode === 200) {
        resolve(response)
        return
      }
      response.destroy()
      reject(new PreviewRefusedError(REASONS[response.statusCode ?? 0] ?? 'unreachable'))
    })
    outgoing.end()
  })
}
