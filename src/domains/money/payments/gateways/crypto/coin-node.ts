import { isUuid } from '../../../../../tools/id.ts'
import { SECOND } from '../../../../../core/clock.ts'
import { GatewayAway } from '../gateway.ts'
import type { Arrival, Chain, Confirmations, NewAddress, Touched } from './chain.ts'
import { RpcError, type Rpc } from './rpc.ts'
import { coinsOf, unitsOf } from './units.ts'

/** Coins of the Bitcoin family whose nodes have this RPC. All have eight digits. */
export const COINS = {
  btc: { title: 'Bitcoin', scheme: 'bitcoin' },
  ltc: { title: 'Litecoin', scheme: 'litecoin' },
  doge: { title: 'Dogecoin', scheme: 'dogecoin' },
} as const

export type CoinName = keyof typeof COINS

const DECIMALS = 8
const PAGE = 200
/** No label has this name. */
const NO_SUCH_LABEL = -11

interface Received {
  readonly txids: readonly string[]
}

interface WalletTransaction {
  readonly txid: string
  readonly confirmations: number
  readonly timereceived: number
  readonly details: readonly {
    readonly address?: string
    readonly category: string
    readonly amount: string | number
    readonly vout: number
  }[]
}

interface ListedTransaction {
  readonly address?: string
  readonly label?: string
  readonly category: string
  readonly timereceived: number
}

/**
 * A coin of the Bitcoin family, through the wallet of a node. The wallet can be one without private keys: only new
 * addresses are asked for. The label of an address is the id of its payment.
 */
export class CoinNode implements Chain {
  readonly coin: CoinName
  readonly title: string
  readonly decimals = DECIMALS
  readonly confirmations: Confirmations
  readonly #rpc: Rpc

  constructor(coin: CoinName, rpc: Rpc, confirmations: Confirmations) {
    this.coin = coin
    this.title = COINS[coin].title
    this.confirmations = confirmations
    this.#rpc = rpc
  }

  async address(paymentId: string): Promise<NewAddress> {
    await this.#requireSynced()
    const known = await this.#addressOf(paymentId)
    const address = known ?? (await this.#ask<string>('getnewaddress', [paymentId]))
    return { address, data: {} }
  }

  async arrivals(address: string): Promise<readonly Arrival[]> {
    await this.#requireSynced()
    const [found] = await this.#ask<Received[]>('listreceivedbyaddress', [0, false, true, address])
    const transactions = await Promise.all(
      (found?.txids ?? []).map((txid) => this.#ask<WalletTransaction>('gettransaction', [txid, true])),
    )
    return transactions
      .filter(({ confirmations }) => confirmations >= 0)
      .flatMap(({ confirmations, details, timereceived, txid }) =>
        details
          .filter((one) => one.address === address && one.category === 'receive')
          .map(({ amount, vout }) => {
            return {
              id: `${txid}:${vout}`,
              units: unitsOf(String(amount), DECIMALS),
              confirmations,
              at: timereceived * SECOND,
            }
          }),
      )
  }

  async *touched(since: number): AsyncIterable<Touched> {
    const reported = new Set<string>()
    for (let skip = 0; ; skip += PAGE) {
      // A page has its oldest transaction first; the first page has the newest ones.
      const page = await this.#ask<ListedTransaction[]>('listtransactions', ['*', PAGE, skip, true])
      for (const { address, category, label, timereceived } of page) {
        const isNew =
          address !== undefined && category === 'receive' && timereceived * SECOND >= since && !reported.has(address)
        if (!isNew || label === undefined || !isUuid(label)) continue
        reported.add(address)
        yield { address, data: {}, paymentId: label }
      }
      if (page.length < PAGE || (page[0]?.timereceived ?? 0) * SECOND < since) return
    }
  }

  uri(address: string, units: bigint): string {
    return `${COINS[this.coin].scheme}:${address}?amount=${coinsOf(units, DECIMALS)}`
  }

  async #addressOf(label: string): Promise<string | undefined> {
    try {
      const known = (await this.#rpc.call('getaddressesbylabel', [label])) as Readonly<Record<string, unknown>>
      return Object.keys(known)[0]
    } catch (error) {
      if (error instanceof RpcError && error.code === NO_SUCH_LABEL) return undefined
      throw away(error)
    }
  }

  /** A node that still reads the chain does not know yet what has arrived. */
  async #requireSynced(): Promise<void> {
    const { initialblockdownload: isBehind } = await this.#ask<{ initialblockdownload: boolean }>('getblockchaininfo')
    if (isBehind) throw new GatewayAway('the node still reads the chain')
  }

  async #ask<T>(method: string, parameters: readonly unknown[] = []): Promise<T> {
    try {
      return (await this.#rpc.call(method, parameters)) as T
    } catch (error) {
      throw away(error)
    }
  }
}

/** A node refuses only while it starts, when its wallet is missing, or out of keys. None of it is about the payer. */
function away(error: unknown): unknown {
  return error instanceof RpcError ? new GatewayAway(error.message, { cause: error }) : error
}
