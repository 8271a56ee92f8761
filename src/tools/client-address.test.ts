import { describe, expect, test } from 'vitest'
import { clientAddress } from './client-address.ts'
import { networkOf } from './network-address.ts'

describe('the address of a client', () => {
  test('is the peer address, in canonical form, when no proxy is trusted', () => {
    expect(clientAddress('192.0.2.1', '198.51.100.7', 0)).toBe('192.0.2.1')
    expect(clientAddress('0000:0000:0000:0000:0000:ffff:c000:0201', '', 0)).toBe('192.0.2.1')
    expect(clientAddress('2001:0db8:0000:0000:0000:0000:0000:0001', '', 0)).toBe('2001:db8::1')
    expect(clientAddress('', '', 0)).toBe('unknown')
  })

  test.each([
    ['198.51.100.7', '198.51.100.7'],
    ['198.51.100.7:4711', '198.51.100.7'],
    ['2001:DB8::7', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[2001:db8::7]:4711', '2001:db8::7'],
    ['::ffff:198.51.100.7', '198.51.100.7'],
    ['[::ffff:198.51.100.7]:80', '198.51.100.7'],
    ['fe80::1%eth0', 'fe80::1'],
    ['203.0.113.9, 198.51.100.7', '198.51.100.7'],
    ['203.0.113.9,198.51.100.7 ', '198.51.100.7'],
  ])('is what a trusted proxy adds: %s', (forwarded, address) => {
    expect(clientAddress('127.0.0.1', forwarded, 1)).toBe(address)
  })

  test.each(['unknown', '_hidden', '', ' ', ',', '198.51.100.7,', '1.2.3', '0x7f.1', '198.51.100.7:port', '[::1', 'a'])(
    'is the connection’s when the proxy names none: %j',
    (forwarded) => {
      expect(clientAddress('127.0.0.1', forwarded, 1)).toBe('127.0.0.1')
    },
  )

  test('is found behind several proxies; a shorter list was written by the inner proxies', () => {
    const forwarded = '203.0.113.9, 198.51.100.7, 10.0.0.2'
    expect(clientAddress('10.0.0.3', forwarded, 2)).toBe('198.51.100.7')
    expect(clientAddress('10.0.0.3', '198.51.100.7', 2)).toBe('198.51.100.7')
  })
})

describe('the network as the key of limits', () => {
  test('is an IPv4 address, in any notation', () => {
    expect(networkOf('192.0.2.1')).toBe('192.0.2.1')
    expect(networkOf('::ffff:192.0.2.1')).toBe('192.0.2.1')
    expect(networkOf('0000:0000:0000:0000:0000:ffff:c000:0201')).toBe('192.0.2.1')
    expect(networkOf('64:ff9b::192.0.2.1')).toBe('192.0.2.1')
  })

  test('is the /64 of an IPv6 address', () => {
    expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64')
    expect(networkOf('2001:0db8:0001:0002:0000:0000:0000:0009')).toBe('2001:db8:1:2::/64')
    expect(networkOf('2001:db8:1:2::9%eth0')).toBe('2001:db8:1:2::/64')
    expect(networkOf('2001:db8:1:3::9')).toBe('2001:db8:1:3::/64')
    expect(networkOf('::1')).toBe('::/64')
  })

  test('leaves any other text unchanged', () => {
    expect(['unknown', '', 'file'].map(networkOf)).toEqual(['unknown', '', 'file'])
  })
})
