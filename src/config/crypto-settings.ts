import { code } from 'currency-codes'
import { fail, integer, list, oneOf, optional, url, withDefault } from './setting-readers.ts'

export interface TokenSetting {
  readonly name: string
  readonly contract: `0x${string}`
  readonly currency: string
  readonly decimals: number
}

/** Stays text, because a price is exact. */
const price = (value: string): string =>
  /^\d{1,15}(\.\d{1,18})?$/.test(value) && /[1-9]/.test(value) ? value : fail('must have positive prices')

const currency = (value: string): string =>
  code(value) === undefined ? fail('must name currencies of ISO 4217, such as USD') : value

/** The price of one coin by currency, or the URL of a source. */
export const rates = (value: string): string | ReadonlyMap<string, string> => {
  if (/^https?:\/\//.test(value)) return url('https', 'http')(value)
  const entries = list(value).map((entry) => {
    const [name = '', amount = ''] = entry.split('=')
    return [currency(name), price(amount)] as const
  })
  return entries.length > 0 ? new Map(entries) : fail('must be a URL, or prices such as USD=85.20,EUR=79')
}

/** `0:1,10000:3`: amounts in minor units, and the blocks that payments of at least this amount need. */
export const confirmations = (value: string): readonly (readonly [number, number])[] => {
  const rows = list(value).map((entry) => {
    const [amount = '', blocks = ''] = entry.split(':')
    return [integer(0, Number.MAX_SAFE_INTEGER)(amount), integer(1, 10_000)(blocks)] as const
  })
  const isAscending = rows.every(([amount], index) => amount > (rows[index - 1]?.[0] ?? -1))
  return rows[0]?.[0] === 0 && isAscending ? rows : fail('must begin with 0 and ascend, such as 0:1,10000:3,100000:6')
}

const tokens = (value: string): readonly TokenSetting[] =>
  list(value).map((entry) => {
    const [, name = '', contract = '', unit = '', digits] =
      /^([a-z0-9-]{1,20})=(0x[0-9a-fA-F]{40}):([A-Z]{3}):(\d{1,2})$/.exec(entry) ?? []
    if (name === '') return fail('must list tokens as name=0xCONTRACT:CURRENCY:DIGITS, such as usdc=0x…:USD:6')
    return { name, contract: contract as `0x${string}`, currency: currency(unit), decimals: Number(digits) }
  })

const xpub = (value: string): string =>
  /^xpub[1-9A-HJ-NP-Za-km-z]{107}$/.test(value) ? value : fail('must be an extended public key, xpub…')

const currencies = (value: string): string[] => list(value).map((name) => currency(name.toUpperCase()))

const COIN_RULES = [
  [0, 2],
  [10_000, 3],
  [100_000, 6],
] as const
const CHAIN_RULES = [
  [0, 12],
  [100_000, 32],
] as const

/** Settings of payments in coins and tokens: rows of `SETTINGS` in config.ts. */
export const cryptoSettings = {
  CRYPTO_NODE_URL: {
    summary:
      'RPC of the wallet at a node of the Bitcoin family: http://user:password@host:port/wallet/name. Requires CRYPTO_RATES',
    fallback: 'off',
    secret: true,
    parse: optional(url('http', 'https')),
  },
  CRYPTO_NODE_COIN: {
    summary: 'Coin of the node: btc, ltc or doge',
    fallback: 'btc',
    parse: withDefault(oneOf('btc', 'ltc', 'doge'), 'btc'),
  },
  CRYPTO_RATES: {
    summary:
      'Price of one coin: USD=85.20,EUR=79, or the URL of a source with {coin} and {currency}, which replies with a number',
    fallback: 'none',
    parse: optional(rates),
  },
  CRYPTO_CURRENCIES: {
    summary: 'Currencies of invoices whose rates come from a URL, comma-separated',
    fallback: 'USD',
    parse: withDefault(currencies, ['USD'] as string[]),
  },
  CRYPTO_CONFIRMATIONS: {
    summary: 'Blocks that a payment in coins needs, by its amount in minor units',
    fallback: '0:2,10000:3,100000:6',
    parse: withDefault(confirmations, COIN_RULES as readonly (readonly [number, number])[]),
  },
  CRYPTO_INVOICE_MINUTES: {
    summary: 'How long the rate of an invoice holds. Later payments go to the wallet at the rate of their time',
    fallback: '60',
    parse: withDefault(integer(5, 1_440), 60),
  },
  EVM_RPC_URL: {
    summary: 'RPC of an Ethereum node, for stablecoins. Requires EVM_XPUB and EVM_TOKENS',
    fallback: 'off',
    secret: true,
    parse: optional(url('http', 'https')),
  },
  EVM_CHAIN_ID: { summary: 'Chain of the node', fallback: '1', parse: withDefault(integer(1, 2 ** 31), 1) },
  EVM_XPUB: {
    summary: 'Extended public key. Invoice N is paid to its child N. The private key must not be on this server',
    fallback: 'none',
    parse: optional(xpub),
  },
  EVM_TOKENS: {
    summary:
      'Tokens that are worth one unit of a currency each: name=0xCONTRACT:CURRENCY:DIGITS, such as usdc=0x…:USD:6',
    fallback: 'none',
    parse: withDefault(tokens, [] as readonly TokenSetting[]),
  },
  EVM_CONFIRMATIONS: {
    summary: 'Blocks that a payment in tokens needs, by its amount in minor units',
    fallback: '0:12,100000:32',
    parse: withDefault(confirmations, CHAIN_RULES as readonly (readonly [number, number])[]),
  },
} as const
