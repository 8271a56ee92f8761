import { canonicalAddress } from './network-address.ts'

/**
 * Finds the client address of a request for HTTP, sockets, sign-in and WHIP. RTMP publishers connect without a proxy.
 * All limits per address use `networkOf` (network-address.ts) as their key.
 */

/** The address when it is unknown because the client disconnected before the address was read. */
export const UNKNOWN_ADDRESS = 'unknown'

/**
 * The address of a client: the peer address of the connection or, behind trusted proxies, an entry of X-Forwarded-For.
 * Each proxy appends the address that it was called from, so only the last entries can be trusted. A client can forge
 * the entries before them. An entry may have a port and brackets (`192.0.2.1:4711`, `[2001:db8::1]:4711`).
 * @param peer the address of the connection
 * @param forwarded the values of all X-Forwarded-For headers, in order, joined by commas
 * @param proxies how many trusted proxies add an entry; 0 trusts no entry
 * @returns an IP address in canonical form; the peer address if the entry is not an IP address
 */
export function clientAddress(peer: string, forwarded: string, proxies: number): string {
  const connected = canonicalAddress(peer) ?? UNKNOWN_ADDRESS
  if (proxies === 0 || forwarded === '') return connected
  const entries = forwarded.split(',')
  const entry = entries[Math.max(0, entries.length - proxies)] ?? ''
  return forwardedAddress(entry.trim()) ?? connected
}

function forwardedAddress(entry: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::\d{1,5})?$/.exec(entry) ?? []
  return canonicalAddress(bracketed ?? plain ?? entry)
}
