import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import type { Outgoing } from '../../../../fetch/outgoing.ts'
import type { TargetRules } from '../../../../fetch/target.ts'
import { isPage, MAX_PAUSE_MS, MAX_REPLY_BYTES, pageFault } from './faults.ts'

/** The time for one reply. */
const TIMEOUT_MS = 90_000

/**
 * The fetch of the `ai` package, by the client that checks addresses and bounds time and size.
 * @throws OutgoingError; ProviderError for a web page
 */
export function providerFetch(
  outgoing: Outgoing,
  rules: TargetRules | undefined,
  idleMs: number = MAX_PAUSE_MS,
): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    const { body, headers, status } = await outgoing.open(
      {
        method: init?.method ?? 'GET',
        url,
        headers: Object.fromEntries(new Headers(init?.headers)),
        body: typeof init?.body === 'string' ? init.body : undefined,
        maxBytes: MAX_REPLY_BYTES,
        timeoutMs: TIMEOUT_MS,
        idleMs,
        signal: init?.signal ?? undefined,
      },
      rules,
    )
    const kept = new Headers()
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) kept.set(name, String(value))
    const type = kept.get('content-type') ?? ''
    if (status === 200 && isPage(type)) {
      await text(body).catch(() => undefined)
      throw pageFault()
    }
    const isWhole = status === 200 && type.includes('application/json')
    if (!isWhole) return new Response(Readable.toWeb(Readable.from(body)) as ReadableStream, { status, headers: kept })
    const whole = await text(body)
    if (isPage(type, whole.slice(0, 100))) throw pageFault()
    return new Response(asStream(whole), { status, headers: { 'content-type': 'text/event-stream' } })
  }
}

interface Completion {
  readonly choices?: readonly { readonly message?: object; readonly finish_reason?: string }[]
}

/** The whole reply of a provider that does not send it piece by piece, as one piece. What is broken stays so. */
function asStream(reply: string): string {
  let piece = reply
  try {
    const { choices = [], ...rest } = JSON.parse(reply) as Completion
    piece = JSON.stringify({
      ...rest,
      choices: choices.map(({ message, ...choice }) => ({ ...choice, delta: message })),
    })
  } catch {
    // It is not JSON. The reader of the stream says so.
  }
  return `data: ${piece.replaceAll(/[\r\n]+/g, ' ')}\n\ndata: [DONE]\n\n`
}
