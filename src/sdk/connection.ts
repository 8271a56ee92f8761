/** The parts of a socket.io-client socket that are used here. */
export interface SocketLike {
  readonly connected: boolean
  connect(): unknown
  disconnect(): unknown
  on(name: string, listener: (...parameters: never[]) => void): unknown
  onAny(listener: (name: string, message: never) => void): unknown
  timeout(ms: number): { emitWithAck(name: string, message: unknown): Promise<unknown> }
}

/** `io` of socket.io-client, with its own options. */
export type SocketFactory = (url: string, options: never) => unknown

export interface ConnectionOptions {
  /** The address of the server, without `/socket.io`. */
  readonly url: string
  /** `io` of socket.io-client 4. */
  readonly io: SocketFactory
  /** An access token or an API key, or a function that returns a valid one. */
  readonly token: string | (() => string | Promise<string>)
  /** The timeout of a reply in milliseconds; 10,000 when absent. */
  readonly timeoutMs?: number
  /** The delay before the first reconnection in milliseconds. It doubles up to 30 times that; 500 when absent. */
  readonly retryDelayMs?: number
  /** How long before its expiry a token is renewed, in milliseconds; 60,000 when absent. */
  readonly renewBeforeMs?: number
  /**
   * Called when the server refuses the credential, even after a new one was requested, or the page
   * (`origin_not_allowed`). The connection stays closed.
   */
  readonly onRefused?: (code: string) => void
  /** Other options of socket.io-client. */
  readonly socketOptions?: object
}

/** The connection was lost or the reply did not arrive, so the outcome is unknown. */
export class SocketLostError extends Error {
  override readonly name = 'SocketLostError'
}

/** Codes after which only another credential is accepted. */
const REFUSED_CREDENTIALS = new Set(['credential_expired', 'invalid_credential', 'unauthorized'])
/** A code after which no credential is accepted: the operator of the server has to allow the page. */
const REFUSED_PAGE = 'origin_not_allowed'
const RENEW_BEFORE_MS = 60_000
/** The maximum delay of a timer. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * A socket that stays connected. It reconnects after any disconnect, requests a new token if the old one has expired,
 * and renews its token in time.
 */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #socket: SocketLike
  readonly #connected = new Set<() => void>()
  readonly #waiting = new Set<() => void>()
  readonly #whenLost = new Set<() => void>()
  #tries = 0
  #refusals = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #renewal: ReturnType<typeof setTimeout> | undefined
  #token = ''
  #isClosed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    const socketOptions = {
      transports: ['websocket'],
      forceNew: true,
      // Handles what socket.io-client does not: a server that closed or refused the socket.
      reconnection: false,
      autoConnect: false,
      ...options.socketOptions,
      auth: (give: (auth: object) => void) => give({ token: this.#token }),
    }
    this.#socket = options.io(options.url, socketOptions as never) as SocketLike
    this.#socket.on('connect', () => this.#opened())
    this.#socket.on('connect_error', (error: { data?: { code?: string } }) => this.#failed(error.data?.code))
    this.#socket.on('disconnect', () => {
      for (const listener of this.#whenLost) listener()
      this.#comeBack()
    })
    void this.#connect()
  }

  get isConnected(): boolean {
    return this.#socket.connected
  }

  /** Calls back whenever the connection is established. */
  onConnected(listener: () => void): void {
    this.#connected.add(listener)
  }

  /** Calls back whenever the connection is lost. */
  onLost(listener: () => void): void {
    this.#whenLost.add(listener)
  }

  /** Receives all messages of the server. */
  onMessage(listener: (name: string, message: never) => void): void {
    this.#socket.onAny(listener)
  }

  /** Resolves when the connection is established; never after `close`. */
  whenConnected(): Promise<void> {
    if (this.isConnected) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  /**
   * Sends a message and returns the acknowledgement.
   * @throws SocketLostError
   */
  async ask(name: string, message: unknown): Promise<unknown> {
    if (!this.isConnected) throw new SocketLostError('there is no connection')
    try {
      return await this.#socket.timeout(this.#options.timeoutMs ?? 10_000).emitWithAck(name, message)
    } catch (error) {
      throw new SocketLostError('the reply did not arrive', { cause: error })
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    clearTimeout(this.#renewal)
    this.#socket.disconnect()
  }

  /** A failure to get a token now says nothing about the next attempt. */
  async #connect(): Promise<void> {
    try {
      await this.#nextToken()
    } catch {
      this.#comeBack()
      return
    }
    if (!this.#isClosed) this.#socket.connect()
  }

  async #nextToken(): Promise<void> {
    const { renewBeforeMs = RENEW_BEFORE_MS, token } = this.#options
    this.#token = typeof token === 'function' ? await token() : token
    clearTimeout(this.#renewal)
    const lifetime = lifetimeOf(this.#token)
    // An unchanged token is not newer than the current one.
    if (this.#isClosed || lifetime === undefined || typeof token === 'string') return
    const inMs = Math.min(Math.max(1_000, lifetime - renewBeforeMs), LONGEST_MS)
    this.#renewal = setTimeout(() => void this.#renew(), inMs)
  }

  /** A token that is unavailable now is requested again, at the latest when the server closes the socket. */
  async #renew(): Promise<void> {
    try {
      await this.#nextToken()
      if (this.isConnected) await this.ask('auth', { token: this.#token })
    } catch {
      clearTimeout(this.#renewal)
      if (!this.#isClosed) this.#renewal = setTimeout(() => void this.#renew(), 5_000)
    }
  }

  #opened(): void {
    this.#tries = 0
    this.#refusals = 0
    for (const listener of this.#connected) listener()
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resolve of waiting) resolve()
  }

  #failed(code: string | undefined): void {
    if (code !== undefined && (code === REFUSED_PAGE || REFUSED_CREDENTIALS.has(code))) {
      this.#refusals += 1
      if (code === REFUSED_PAGE || this.#refusals > 1 || typeof this.#options.token === 'string') {
        this.#options.onRefused?.(code)
        this.close()
        return
      }
    }
    this.#comeBack()
  }

  #comeBack(): void {
    if (this.#isClosed) return
    clearTimeout(this.#retry)
    const delay = (this.#options.retryDelayMs ?? 500) * Math.min(2 ** this.#tries, 30) * (0.5 + Math.random())
    this.#tries += 1
    this.#retry = setTimeout(() => void this.#connect(), delay)
  }
}

/** The lifetime of a token in milliseconds; undefined if it is not a JWT. */
function lifetimeOf(token: string): number | undefined {
  const payload = token.split('.')[1]
  if (payload === undefined) return undefined
  try {
    const { exp, iat } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as Record<string, unknown>
    return typeof exp === 'number' && typeof iat === 'number' ? (exp - iat) * 1_000 : undefined
  } catch {
    return undefined
  }
}
