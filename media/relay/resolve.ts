import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { checkAddress } from './address.ts'
import { Fault } from './fault.ts'

export { checkAddress, type AddressCheck } from './address.ts'
export { DestinationUrlError, parseDestinationUrl, type DestinationTarget } from './destination-url.ts'

export interface ResolvedAddress {
  readonly address: string
  readonly family: 4 | 6
}

/**
 * Resolves a destination's host once and keeps the addresses that may be connected to. The caller connects to these
 * and never asks the name again, so that a second answer cannot lead elsewhere.
 *
 * @throws Fault `dns_failed` when the name has no address, `address_refused` when none of them is public.
 */
export async function resolveHost(host: string, allowPrivateAddresses: boolean): Promise<readonly ResolvedAddress[]> {
  const found = await addressesOf(host)
  if (allowPrivateAddresses) return found
  const checked = found.map((entry) => ({ entry, check: checkAddress(entry.address) }))
  const allowed = checked.filter(({ check }) => check.allowed).map(({ entry }) => entry)
  if (allowed.length > 0) return allowed
  const reasons = new Set(checked.map(({ check }) => (check.allowed ? '' : check.reason)))
  throw new Fault('address_refused', `${host} leads to ${[...reasons].join(' and ')}, which is not allowed.`)
}

async function addressesOf(host: string): Promise<readonly ResolvedAddress[]> {
  const family = isIP(host)
  if (family === 4 || family === 6) return [{ address: host, family }]
  try {
    const found = await lookup(host, { all: true, order: 'verbatim' })
    return found.map((entry) => ({ address: entry.address, family: entry.family === 6 ? 6 : 4 }))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const words = code === 'ENOTFOUND' ? 'has no address' : `could not be looked up (${code ?? 'unknown error'})`
    throw new Fault('dns_failed', `${host} ${words}.`)
  }
}
