import type { Clock } from '../../../../../core/clock.ts'
import type { Outgoing } from '../../../../../fetch/outgoing.ts'
import type { Foundation } from '../../../../../foundation.ts'
import type { Gateway } from '../gateway.ts'
import { CoinNode } from './coin-node.ts'
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
