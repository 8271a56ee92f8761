import { describe, expect, test } from 'vitest'
import { ConnectionLimiter } from './connection-limiter.ts'

const LIMITS = {
  maxConnections: 6,
  maxUnadmitted: 4,
  maxUnadmittedPerAddress: 2,
  maxConnectionRatePerAddress: 1_000,
}

describe('ConnectionLimiter', () => {
  test('limits unadmitted connections per address and in total; admitted ones do not count', () => {
    const limiter = new ConnectionLimiter(LIMITS)
    expect([limiter.open('192.0.2.1', 0), limiter.open('192.0.2.1', 0), limiter.open('192.0.2.1', 0)]).toEqual([
      true,
      true,
      false,
    ])
    limiter.admit('192.0.2.1')
    expect(limiter.open('192.0.2.1', 0)).toBe(true)
    expect([limiter.open('192.0.2.2', 0), limiter.open('192.0.2.2', 0), limiter.open('192.0.2.3', 0)]).toEqual([
      true,
      true,
      false,
    ])
    limiter.close('192.0.2.2', false)
    expect(limiter.open('192.0.2.3', 0)).toBe(true)
    expect(limiter.connections).toBe(5)
  })

  test('limits all connections', () => {
    const limiter = new ConnectionLimiter(LIMITS)
    for (let index = 0; index < 6; index++) {
      expect(limiter.open(`192.0.2.${index}`, 0)).toBe(true)
      limiter.admit(`192.0.2.${index}`)
    }
    expect(limiter.open('192.0.2.99', 0)).toBe(false)
    limiter.close('192.0.2.1', true)
    expect(limiter.open('192.0.2.99', 0)).toBe(true)
  })

  test('limits the connection rate of an address', () => {
    const limiter = new ConnectionLimiter({ ...LIMITS, maxConnectionRatePerAddress: 2 })
    const reconnect = (now: number): boolean => {
      const opened = limiter.open('192.0.2.1', now)
      if (opened) limiter.close('192.0.2.1', false)
      return opened
    }
    expect([0, 0, 0, 0, 0].map(reconnect)).toEqual([true, true, true, true, false])
    expect([500, 500].map(reconnect)).toEqual([true, false])
    limiter.prune(10_000)
    expect([10_000, 10_000, 10_000, 10_000, 10_000].map(reconnect)).toEqual([true, true, true, true, false])
  })

  test('counts IPv6 addresses by /64 and IPv4-mapped addresses as IPv4', () => {
    const limiter = new ConnectionLimiter(LIMITS)
    const open = (address: string): boolean => limiter.open(address, 0)
    expect(['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9', '2001:db8:1:2::a'].map(open)).toEqual([true, true, false])
    expect(['::ffff:192.0.2.1', '192.0.2.1', '::ffff:192.0.2.1'].map(open)).toEqual([true, true, false])
  })
})
