import { describe, expect, test } from 'vitest'
import { AddressGate } from './address-gate.ts'

const LIMITS = {
  maxConnections: 6,
  maxUnadmitted: 4,
  maxUnadmittedPerAddress: 2,
  maxConnectionRatePerAddress: 1_000,
}

describe('address gate', () => {
  test('caps strangers by address and in all; publishers make room', () => {
    const gate = new AddressGate(LIMITS)
    expect([gate.enter('192.0.2.1', 0), gate.enter('192.0.2.1', 0), gate.enter('192.0.2.1', 0)]).toEqual([
      true,
      true,
      false,
    ])
    gate.admit('192.0.2.1')
    expect(gate.enter('192.0.2.1', 0)).toBe(true)
    expect([gate.enter('192.0.2.2', 0), gate.enter('192.0.2.2', 0), gate.enter('192.0.2.3', 0)]).toEqual([
      true,
      true,
      false,
    ])
    gate.leave('192.0.2.2', false)
    expect(gate.enter('192.0.2.3', 0)).toBe(true)
    expect(gate.connections).toBe(5)
  })

  test('caps all connections', () => {
    const gate = new AddressGate(LIMITS)
    for (let index = 0; index < 6; index++) {
      expect(gate.enter(`192.0.2.${index}`, 0)).toBe(true)
      gate.admit(`192.0.2.${index}`)
    }
    expect(gate.enter('192.0.2.99', 0)).toBe(false)
    gate.leave('192.0.2.1', true)
    expect(gate.enter('192.0.2.99', 0)).toBe(true)
  })

  test('limits how often one address connects', () => {
    const gate = new AddressGate({ ...LIMITS, maxConnectionRatePerAddress: 2 })
    const reconnect = (now: number): boolean => {
      const entered = gate.enter('192.0.2.1', now)
      if (entered) gate.leave('192.0.2.1', false)
      return entered
    }
    expect([0, 0, 0, 0, 0].map(reconnect)).toEqual([true, true, true, true, false])
    expect([500, 500].map(reconnect)).toEqual([true, false])
    gate.prune(10_000)
    expect([10_000, 10_000, 10_000, 10_000, 10_000].map(reconnect)).toEqual([true, true, true, true, false])
  })

  test('an IPv6 host counts by its /64, a mapped address as IPv4', () => {
    const gate = new AddressGate(LIMITS)
    const enter = (address: string): boolean => gate.enter(address, 0)
    expect(['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9', '2001:db8:1:2::a'].map(enter)).toEqual([true, true, false])
    expect(['::ffff:192.0.2.1', '192.0.2.1', '::ffff:192.0.2.1'].map(enter)).toEqual([true, true, false])
  })
})
