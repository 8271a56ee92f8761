import { code } from 'currency-codes'
import { MINUTE, type Clock } from '../../../../../core/clock.ts'
import type { Outgoing } from '../../../../../fetch/outgoing.ts'
import { OPEN_RULES } from '../../../../../fetch/target.ts'
import { GatewayAway } from '../gateway.ts'
import type { Chain } from './chain.ts'
import { ratioOf, type Ratio } from './units.ts'

/** Where the price of a coin comes from. There is no third party: the operator states it, or runs the source. */
export interface Rates {
  /** Minor units of a currency for one smallest unit of a coin. @throws GatewayAway when the rate is not known now */
  rate(chain: Pick<Chain, 'coin' | 'decimals'>, currency: string): Promise<Ratio>
}

/** Rates that the operator has set: the price of one coin by currency, as a decimal number. */
export class FixedRates implements Rates {
  readonly #prices: ReadonlyMap<string, string>

  constructor(prices: ReadonlyMap<string, string>) {
    this.#prices = prices
  }

  async rate({ decimals }: Pick<Chain, 'decimals'>, currency: string): Promise<Ratio> {
    const price = ratioOf(this.#prices.get(currency) ?? '')
    if (price === undefined) throw new GatewayAway(`no rate is set for ${currency}`)
    return perUnit(price, decimals, currency)
  }
}

const FRESH_MS = MINUTE
const TIMEOUT_MS = 10_000

/** Rates from a server of the operator, which replies with a decimal number, or with JSON that has it as `rate`. */
export class RateSource implements Rates {
  readonly #url: string
  readonly #outgoing: Outgoing
  readonly #clock: Clock
  readonly #known = new Map<string, { readonly price: Ratio; readonly until: number }>()

  /** @param url with `{coin}` and `{currency}` */
  constructor(url: string, outgoing: Outgoing, clock: Clock) {
    this.#url = url
    this.#outgoing = outgoing
    this.#clock = clock
  }

  async rate({ coin, decimals }: Pick<Chain, 'coin' | 'decimals'>, currency: string): Promise<Ratio> {
    const url = this.#url.replaceAll('{coin}', coin).replaceAll('{currency}', currency)
    const known = this.#known.get(url)
    const now = this.#clock.now()
    const price = known !== undefined && known.until > now ? known.price : await this.#ask(url)
    if (price !== known?.price) this.#known.set(url, { price, until: now + FRESH_MS })
    return perUnit(price, decimals, currency)
  }

  async #ask(url: string): Promise<Ratio> {
    const price = priceIn(await this.#read(url))
    if (price === undefined) throw new GatewayAway('the source of rates has replied with no rate')
    return price
  }

  async #read(url: string): Promise<string> {
    try {
      const reply = await this.#outgoing.send(
        { method: 'GET', url, maxBytes: 10_000, timeoutMs: TIMEOUT_MS },
        OPEN_RULES,
      )
      return reply.status === 200 ? reply.bytes.toString() : ''
    } catch (error) {
      throw new GatewayAway('the source of rates does not respond', { cause: error })
    }
  }
}

/** Read from the text, because a parsed number would not be exact. */
function priceIn(text: string): Ratio | undefined {
  const [, quoted] = /"rate"\s*:\s*"?([\d.]+)"?\s*[,}]/.exec(text) ?? []
  return ratioOf(quoted ?? text)
}

function perUnit({ denominator, numerator }: Ratio, decimals: number, currency: string): Ratio {
  const digits = code(currency)?.digits
  if (digits === undefined) throw new GatewayAway(`${currency} is not a currency of ISO 4217`)
  return { numerator: numerator * 10n ** BigInt(digits), denominator: denominator * 10n ** BigInt(decimals) }
}
