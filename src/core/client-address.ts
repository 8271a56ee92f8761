import { canonicalAddress } from '../../media/network-address.ts'

/**
 * Where a request comes from, for every part that asks: HTTP, sockets, sign-in, WHIP. RTMP publishers connect without a
 * proxy; they share `networkOf`, the key of every limit per address.
 */
export { networkOf } from '../../media/network-address.ts'

/** The address of a client nobody could name: it left before it was asked for. */
export const UNKNOWN_ADDRESS = 'unknown'

/**
 * The address of a client: that of its connection or, behind trusted proxies, the one they name in X-Forwarded-For.
 * A proxy adds the address it was called from at the end, so what a client wrote itself stands before the entries that
 * count. An entry may have a port and brackets (`192.0.2.1:4711`, `[2001:db8::1]:4711`).
 * @param peer the address of the connection
 * @param forwarded the values of all X-Forwarded-For headers, in their order, joined by commas
 * @param proxies how many proxies in front of this server add an entry; 0 trusts no entry
 * @returns an IP address in its usual spelling. The connection's where the entry is not an address
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
