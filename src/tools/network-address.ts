import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * The network of an address, for limits per client: the address itself for IPv4, the /64 for IPv6. One host usually has
 * a whole /64 (RFC 6177), so a limit per IPv6 address would have no effect. IPv4 addresses inside IPv6
 * (`::ffff:192.0.2.1`, and NAT64's `64:ff9b::/96`) count as IPv4.
 *
 * @returns a string that is equal for all addresses of the network. Text that is not an IP address is returned unchanged.
 */
export function networkOf(address: string): string {
  if (isIPv4(address) || !isIPv6(address)) return address
  const parsed = ipaddr.IPv6.parse(withoutZone(address))
  const ipv4 = embeddedIpv4(parsed)
  if (ipv4 !== undefined) return ipv4
  const [a = 0, b = 0, c = 0, d = 0] = parsed.parts
  return `${new ipaddr.IPv6([a, b, c, d, 0, 0, 0, 0]).toRFC5952String()}/64`
}

/** An address in canonical form (RFC 5952), an IPv4-mapped one as IPv4. Undefined if the text is not an IP address. */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  if (!isIPv6(text)) return undefined
  const parsed = ipaddr.IPv6.parse(withoutZone(text))
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toRFC5952String()
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] as string
}

function embeddedIpv4(address: ipaddr.IPv6): string | undefined {
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString()
  if (address.range() !== 'rfc6052') return undefined
  const [high = 0, low = 0] = address.parts.slice(6)
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}
