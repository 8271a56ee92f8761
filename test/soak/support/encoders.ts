import { setTimeout as delay } from 'node:timers/promises'
import { Feed } from '../../../media/testing/feed.ts'
import { TestPublisher } from '../../../media/testing/publisher.ts'
import { WhipClient } from '../../../media/testing/whip-client.ts'
import type { WhipMedia } from '../../../media/testing/whip-media.ts'

/** Milliseconds between the frames of an RTMP encoder. */
export const RTMP_FRAME_MS = 40
const RETRY_MS = 1_000
/** A WHIP server sends reports several times a second. Without one for this long it counts as gone. */
const SILENT_MS = 3_000
const REQUEST_MS = 10_000

/** An encoder that reconnects by itself, as OBS does. */
export interface Encoder {
  start(): void
  stop(): Promise<void>
}

/** Runs sessions one after another until it is stopped. `session` resolves when its connection is lost. */
function reconnecting(session: (signal: AbortSignal) => Promise<void>): Encoder {
  let running: { readonly controller: AbortController; readonly done: Promise<void> } | undefined
  const run = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      // The soak test makes the server unavailable; the next attempt succeeds.
      await session(signal).catch(() => {})
      await delay(RETRY_MS, undefined, { signal }).catch(() => {})
    }
  }
  return {
    start() {
      const controller = new AbortController()
      running ??= { controller, done: run(controller.signal) }
    },
    async stop() {
      running?.controller.abort()
      await running?.done
      running = undefined
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/**
 * An RTMP encoder.
 *
 * @param feeds takes the feed of each session; the sizes of its messages differ from those of every other feed in the
 *   list, so that a checksum names one message of one session
 */
export function rtmpEncoder(port: () => number, key: string, feeds: Feed[]): Encoder {
  return reconnecting(async (signal) => {
    const publisher = await TestPublisher.connect({ port: port() })
    try {
      const status = await publisher.publish(key)
      if (status?.code !== 'NetStream.Publish.Start') return
      publisher.setChunkSize(65_536)
      const size = { videoBytes: 4_000 + feeds.length, audioBytes: 200 + feeds.length }
      const feed = new Feed(publisher, { frameMs: RTMP_FRAME_MS, keyframeEveryMs: 1_000, ...size }).start()
      feeds.push(feed)
      await Promise.race([publisher.closed, aborted(signal)])
      feed.stop()
    } finally {
      publisher.close()
    }
  })
}

export interface WhipAddress {
  readonly whipUrl: string
  readonly whipToken: string
}

/** A WHIP encoder without a browser. It sends a new offer when the server has been silent for a while. */
export function whipEncoder(address: WhipAddress, media: WhipMedia): Encoder {
  return reconnecting(async (signal) => {
    const client = new WhipClient({ media })
    let session: string | undefined
    try {
      const response = await fetch(address.whipUrl, {
        method: 'POST',
        headers: { Authorization: `Bearer ${address.whipToken}`, 'Content-Type': 'application/sdp' },
        body: await client.offer(),
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
      })
      const answer = await response.text()
      if (response.status !== 201) return
      session = response.headers.get('location') ?? undefined
      client.accept(answer)
      client.start()
      await untilSilent(client, signal)
    } finally {
      client.close()
      if (session !== undefined) await leave(new URL(session, address.whipUrl), address.whipToken)
    }
  })
}

async function untilSilent(client: WhipClient, signal: AbortSignal): Promise<void> {
  let [reports, heardAt] = [0, performance.now()]
  while (!signal.aborted && !['failed', 'closed', 'disconnected'].includes(client.state)) {
    if (client.feedback.length > reports) {
      reports = client.feedback.length
      heardAt = performance.now()
    }
    if (performance.now() - heardAt > SILENT_MS) return
    await delay(200, undefined, { signal }).catch(() => {})
  }
}

/** Ends a session, so that it does not block the next offer. An unavailable server has no session left. */
async function leave(url: URL, token: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` }
  await fetch(url, { method: 'DELETE', headers, signal: AbortSignal.timeout(RETRY_MS) }).catch(() => {})
}
