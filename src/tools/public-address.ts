import ipaddr from 'ipaddr.js'

export type AddressCheck = { readonly allowed: true } | { readonly allowed: false; readonly reason: string }

/** Public addresses that belong to the control plane of a cloud provider. */
const METADATA_ADDRESSES = new Set(['168.63.129.16'])

const IPV4_REASONS: Record<string, string> = {
  unspecified: 'an unspecified address',
  broadcast: 'a broadcast address',
  multicast: 'a multicast address',
  linkLocal: 'a link-local address (used for cloud metadata)',
  loopback: 'a loopback address',
  carrierGradeNat: 'a carrier-grade NAT address',
  private: 'a private address',
}

const IPV6_REASONS: Record<string, string> = {
  unspecified: 'an unspecified address',
  multicast: 'a multicast address',
  linkLocal: 'a link-local address',
  loopback: 'a loopback address',
  uniqueLocal: 'a unique local address',
  ipv4Mapped: 'an IPv4-mapped address',
  rfc6145: 'an IPv4-translated address',
  rfc6052: 'a NAT64 address',
  '6to4': 'a 6to4 address',
  teredo: 'a Teredo address',
}

/** The only block of public IPv6 unicast addresses that IANA has allocated (RFC 4291, section 2.4). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
/** RFC 9637. ipaddr.js 2.5 does not know it. */
const DOCUMENTATION = ipaddr.IPv6.parseCIDR('3fff::/20')

/**
 * Whether a destination may have this address. The check works on the bits, so the notation (`127.1`, `0x7f000001`,
 * `::ffff:7f00:1`) does not matter. It allows addresses that are known to be public and refuses all others.
 */
export function checkAddress(ip: string): AddressCheck {
  if (!ipaddr.isValid(ip)) return { allowed: false, reason: 'not an IP address' }
  const address = ipaddr.parse(ip)
  if (address instanceof ipaddr.IPv4) return checkIpv4(address)
  return checkIpv6(address)
}

function checkIpv4(address: ipaddr.IPv4): AddressCheck {
  if (METADATA_ADDRESSES.has(address.toString())) return refused('a cloud metadata address')
  const range = address.range()
  return range === 'unicast' ? { allowed: true } : refused(IPV4_REASONS[range] ?? 'a reserved address')
}

function checkIpv6(address: ipaddr.IPv6): AddressCheck {
  if (address.zoneId !== undefined) return refused('an address with a zone')
  const range = address.range()
  if (range !== 'unicast') return refused(IPV6_REASONS[range] ?? 'a reserved address')
  const [, , , , high, low] = address.parts
  // RFC 5214, section 6.1: the last 32 bits of an ISATAP interface identifier are an IPv4 address.
  if (low === 0x5efe && (high === 0 || high === 0x200)) return refused('an ISATAP address')
  if (!address.match(GLOBAL_UNICAST) || address.match(DOCUMENTATION)) return refused('a reserved address')
  return { allowed: true }
}

function refused(reason: string): AddressCheck {
  return { allowed: false, reason }
}
