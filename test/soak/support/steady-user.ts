import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** One of the requests that a steady user sends in turn. */
export interface SteadyRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sends it on a new connection; on one that is kept alive when absent. */
  readonly newConnection?: true
}

export interface SteadyJob {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly requests: readonly SteadyRequest[]
  readonly perSecond: number
}

/** The results of a steady user since the last report. Times are from sending a request to the end of its reply. */
export interface SteadyFigures {
  readonly requests: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** How often each failure occurred: a status of 400 or more, an error of the connection, or no reply in 10 s. */
  readonly failures: Readonly<Record<string, number>>
}

/**
 * A legitimate user who sends requests at a steady rate, whether or not earlier ones have replies. It runs in a separate
 * process, so that other work of the caller does not count as the server's delay.
 */
export class SteadyUser {
  readonly #child: ChildProcess

  constructor(job: SteadyJob) {
    // In a process group of its own, so that it can still report when the soak is interrupted.
    this.#child = fork(fileURLToPath(import.meta.url), [JSON.stringify(job)], { detached: true })
  }

  /** Waits for the replies to all requests so far, reports them, and begins to count from zero. */
  async figures(): Promise<SteadyFigures> {
    const answered = once(this.#child, 'message')
    this.#child.send('figures')
    const [figures] = (await answered) as [SteadyFigures]
    return figures
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.kill()
    await ended
  }
}

const TIMEOUT_MS = 10_000

async function run({ headers, perSecond, requests, url }: SteadyJob): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  let times: number[] = []
  let failures: Record<string, number> = {}
  const open = new Set<Promise<void>>()

  const sendOne = async (one: SteadyRequest) => {
    const left = performance.now()
    const failure = await exchange(`${url}${one.path}`, one, { agent: one.newConnection ? false : agent, headers })
    times.push(performance.now() - left)
    if (failure === undefined) return
    const name = `${one.method} ${one.path.split('?')[0]}: ${failure}`
    failures[name] = (failures[name] ?? 0) + 1
  }

  const report = async () => {
    await Promise.all(open)
    const sorted = times.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
    const figures: SteadyFigures = {
      requests: sorted.length,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      maxMs: at(1),
      failures,
    }
    times = []
    failures = {}
    process.send?.(figures)
  }
  process.on('message', () => void report())
  const started = performance.now()
  for (let sent = 0; process.connected; sent += 1) {
    await delay(Math.max(0, started + (sent * 1_000) / perSecond - performance.now()))
    const one = requests[sent % requests.length] as SteadyRequest
    const sending = sendOne(one).finally(() => open.delete(sending))
    open.add(sending)
  }
}

/** Sends a request. @returns the failure; undefined on success */
function exchange(
  url: string,
  { body, method }: SteadyRequest,
  options: { readonly agent: Agent | false; readonly headers: SteadyJob['headers'] },
): Promise<string | undefined> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...options.headers,
    ...(text !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
  }
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const sent = request(url, { ...options, method, headers, signal }, (response) => {
      const { statusCode = 0 } = response
      response.once('error', (error) => resolve(error.message))
      response.resume().once('end', () => resolve(statusCode < 400 ? undefined : String(statusCode)))
    })
    sent.once('error', (error: NodeJS.ErrnoException) =>
      resolve(signal.aborted ? 'no reply' : (error.code ?? error.message)),
    )
    sent.end(text)
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await run(JSON.parse(process.argv[2] ?? '{}') as SteadyJob)
