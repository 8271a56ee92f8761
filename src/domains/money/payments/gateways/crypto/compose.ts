import type { Clock } from '../../../../../core/clock.ts'
import type { Outgoing } from '../../../../../fetch/outgoing.ts'
import type { Foundation } from '../../../../../foundation.ts'
import type { Gateway } from '../gateway.ts'
import { CoinNode } from './coin-node.ts'
import type { Database } from '../../../../../db/database.ts'
import { InvoiceAddresses } from './addresses.ts'
import { CryptoGateway } from './gateway.ts'
import { FixedRates, RateSource } from './rates.ts'
import { Rpc } from './rpc.ts'

/** The gateway for a coin of the Bitcoin family, if the operator has a node. */
export function coinGateways(config: Foundation['config'], outgoing: Outgoing, clock: Clock): Gateway[] {
  const { CRYPTO_CONFIRMATIONS, CRYPTO_CURRENCIES, CRYPTO_INVOICE_MINUTES: minutes } = config
  const { CRYPTO_NODE_COIN, CRYPTO_NODE_URL, CRYPTO_RATES: source } = config
  if (CRYPTO_NODE_URL === undefined || source === undefined) return []
  const node = new CoinNode(CRYPTO_NODE_COIN, new Rpc(CRYPTO_NODE_URL, outgoing), CRYPTO_CONFIRMATIONS)
  const isUrl = typeof source === 'string'
  const rates = isUrl ? new RateSource(source, outgoing, clock) : new FixedRates(source)
  const currencies = isUrl ? CRYPTO_CURRENCIES : [...source.keys()]
  return [new CryptoGateway(node, rates, clock, { minutes, currencies })]
}

/** The gateways for tokens, if the operator has a node. */
export async function tokenGateways(
  config: Foundation['config'],
  outgoing: Outgoing,
  clock: Clock,
  database: Database,
): Promise<Gateway[]> {
  const { CRYPTO_INVOICE_MINUTES: minutes, EVM_CHAIN_ID: chainId, EVM_CONFIRMATIONS: confirmations } = config
  const { EVM_RPC_URL, EVM_TOKENS, EVM_XPUB: xpub } = config
  if (EVM_RPC_URL === undefined || xpub === undefined) return []
  // Loaded only where it is needed.
  const { Token } = await import('./token.ts')
  const rpc = new Rpc(EVM_RPC_URL, outgoing)
  const addresses = new InvoiceAddresses(database, clock)
  return EVM_TOKENS.map(({ contract, currency, decimals, name }) => {
    const token = new Token({ name, contract, decimals, chainId, xpub, confirmations }, rpc, addresses)
    // A stablecoin is worth one unit of its currency.
    const rates = new FixedRates(new Map([[currency, '1']]))
    return new CryptoGateway(token, rates, clock, { minutes, currencies: [currency] })
  })
}
