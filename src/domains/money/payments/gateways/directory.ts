import type { Logger } from '../../../../core/log.ts'
import { GatewayNotConfigured, GatewayUnavailable } from '../errors.ts'
import { GatewayAway, type Gateway, type GatewayVault } from './gateway.ts'

/** How long a caller waits before the next try while a gateway is away, in seconds. */
const RETRY_AFTER = 30

/** The gateways that the operator has configured. They are added at the start of a node. */
export class Gateways {
  readonly #gateways = new Map<string, Gateway>()
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  add(gateway: Gateway): void {
    this.#gateways.set(gateway.key, gateway)
  }

  all(): Gateway[] {
    return [...this.#gateways.values()]
  }

  find(key: string): Gateway | undefined {
    return this.#gateways.get(key)
  }

  /** @throws AppError gateway_not_configured */
  get(key: string): Gateway {
    const gateway = this.find(key)
    if (gateway === undefined) throw GatewayNotConfigured()
    return gateway
  }

  /** The gateway for a coin. @throws AppError gateway_not_configured */
  forCoin(coin: string): Gateway {
    const gateway = this.all().find(({ config }) => config.coins.includes(coin))
    if (gateway === undefined) throw GatewayNotConfigured({ message: `This server takes no payments in ${coin}.` })
    return gateway
  }

  /** A gateway that keeps methods. @throws AppError gateway_not_configured */
  vaultOf(key: string): Gateway & { readonly vault: GatewayVault } {
    const gateway = this.get(key)
    if (gateway.vault === undefined) throw GatewayNotConfigured()
    return gateway as Gateway & { readonly vault: GatewayVault }
  }

  /**
   * Calls a gateway for a request.
   * @throws AppError gateway_unavailable when it does not answer
   */
  async ask<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof GatewayAway)) throw error
      this.#log.warn({ error }, 'a payment gateway does not respond')
      throw GatewayUnavailable({ retryAfter: RETRY_AFTER, cause: error })
    }
  }
}
