import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../src/core/clock.ts'
import type { Credential } from '../src/platforms/platform.ts'

/** A request as a fake sees it. */
export interface FakeRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** The body as JSON or form fields; empty for other bodies. */
  readonly body: Readonly<Record<string, unknown>>
  /** The base URL of the fake, as the client addressed it. */
  readonly base: string
}

export interface FakeReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, or a string that is sent as it is. */
  readonly body?: unknown
}

/** A post that was published to a fake. */
export interface SandboxPost {
  readonly id: string
  /** The name of the account. */
  readonly account: string
  readonly text: string
  readonly media: readonly string[]
  readonly replyTo: string | null
  /** ISO 8601. */
  readonly publishedAt: string
}

/**
 * A stand-in for a commercial platform, which keeps state and enforces the platform's documented rules. It serves the
 * sandbox and the tests. It is not the platform: every reply says so.
 */
export interface Fake<State = unknown> {
  /** The state that is stored after each request that may have changed it: plain JSON. */
  readonly state: State
  handle(request: FakeRequest): FakeReply | Promise<FakeReply>
  /** Creates an account, and access to it without consent. */
  newAccount(): Credential
  posts(): readonly SandboxPost[]
}

export interface FakeOptions<State> {
  readonly clock: Clock
  /** The stored state of an earlier run. */
  readonly state: State | undefined
}

/** How a platform's folder provides its fake. */
export type FakeFactory = (options: FakeOptions<never>) => Fake

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): FakeReply {
  return { status, body, headers }
}
