import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { checkAddress } from '../../src/tools/public-address.ts'
import { Fault } from './fault.ts'

export interface ResolvedAddress {
  readonly address: string
  readonly family: 4 | 6
}

/**
 * Resolves the host of a destination and returns the addresses that are allowed. The caller connects to these and does
 * not resolve the name again, because a second DNS answer could be a private address.
 *
 * @throws Fault `dns_failed` when the name has no address; `address_refused` when none of them is public
 */
export async function resolveHost(host: string, allowPrivateAddresses: boolean): Promise<readonly ResolvedAddress[]> {
  const found = await addressesOf(host)
  if (allowPrivateAddresses) return found
  const checked = found.map((entry) => ({ entry, check: checkAddress(entry.address) }))
  const allowed = checked.filter(({ check }) => check.allowed).map(({ entry }) => entry)
  if (allowed.length > 0) return allowed
  const reasons = new Set(checked.map(({ check }) => (check.allowed ? '' : check.reason)))
  throw new Fault('address_refused', `${host} resolves to ${[...reasons].join(' and ')}, which is not allowed.`)
}

async function addressesOf(host: string): Promise<readonly ResolvedAddress[]> {
  const family = isIP(host)
  if (family === 4 || family === 6) return [{ address: host, family }]
  try {
    const found = await lookup(host, { all: true, order: 'verbatim' })
    return found.map((entry) => ({ address: entry.address, family: entry.family === 6 ? 6 : 4 }))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const problem = code === 'ENOTFOUND' ? 'has no address' : `could not be resolved (${code ?? 'unknown error'})`
    throw new Fault('dns_failed', `${host} ${problem}.`)
  }
}
