import { FairGate } from '../../../../../core/fair-gate.ts'
import { OutgoingError, type Outgoing } from '../../../../../fetch/outgoing.ts'
import { OPEN_RULES } from '../../../../../fetch/target.ts'
import { GatewayAway } from '../gateway.ts'

const TIMEOUT_MS = 15_000
const MAX_BYTES = 16_000_000
/**
 * Calls that run at once. Litecoin Core 0.21 runs 4 and lets 16 wait (`rpcthreads`, `rpcworkqueue`), and answers others with
 * 503 “Work queue depth exceeded”.
 */
const AT_ONCE = 8
const WAITING = 1_000

/** A node has answered a call with an error. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number

  constructor(method: string, code: number, message: string) {
    super(`${method}: ${message}`)
    this.code = code
  }
}

/** JSON-RPC over HTTP, through Crier's own client: one attempt, one timeout, a limited reply. */
export class Rpc {
  readonly #outgoing: Outgoing
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #gate = new FairGate({ total: AT_ONCE, each: AT_ONCE, waiting: WAITING, waitMs: TIMEOUT_MS })
  #count = 0

  /** @param url with the user and password, if the node wants them */
  constructor(url: string, outgoing: Outgoing) {
    const parsed = new URL(url)
    const login = `${decodeURIComponent(parsed.username)}:${decodeURIComponent(parsed.password)}`
    this.#headers = {
      'Content-Type': 'application/json',
      ...(login !== ':' && { Authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
    }
    parsed.username = ''
    parsed.password = ''
    this.#url = parsed.href
    this.#outgoing = outgoing
  }

  /**
   * Numbers with a point are returned as their text, because amounts of coins must stay exact.
   * @throws RpcError when the node refuses; GatewayAway when it does not answer; AppError overloaded when too many calls wait
   */
  async call(method: string, parameters: readonly unknown[] = []): Promise<unknown> {
    this.#count += 1
    const id = this.#count
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: parameters })
    const { error, result } = parse(await this.#gate.run(method, () => this.#send(body)), method)
    if (error !== undefined && error !== null) throw new RpcError(method, error.code, error.message)
    return result
  }

  async #send(body: string): Promise<string> {
    const request = { method: 'POST', url: this.#url, headers: this.#headers, body }
    try {
      const limits = { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS }
      // The operator has configured the host.
      return (await this.#outgoing.send({ ...request, ...limits }, OPEN_RULES)).bytes.toString()
    } catch (error) {
      const why = error instanceof OutgoingError ? error.message : 'it has failed'
      throw new GatewayAway(`the node does not respond: ${why}`, { cause: error })
    }
  }
}

interface Reply {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string } | null
}

/** Wrong logins and proxies answer with something else than JSON. */
function parse(text: string, method: string): Reply {
  try {
    return JSON.parse(text, exactNumber) as Reply
  } catch (error) {
    throw new GatewayAway(`the node has answered ${method} with no JSON`, { cause: error })
  }
}

function exactNumber(_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  return typeof value === 'number' && source !== undefined && /[.eE]/.test(source) ? source : value
}
