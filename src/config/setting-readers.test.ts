import { expect, test } from 'vitest'
import { announced, iceServers, origins, proxies, reportDomains } from './setting-readers.ts'

test.each([
  ['203.0.113.7', { address: '203.0.113.7' }],
  ['203.0.113.7:8189', { address: '203.0.113.7', port: 8_189 }],
  ['2001:db8::1', { address: '2001:db8::1' }],
  ['[2001:db8::1]:8189', { address: '2001:db8::1', port: 8_189 }],
])('an announced address: %s', (text, expected) => {
  expect(announced(text)).toEqual(expected)
})

test.each(['example.com', '203.0.113.7:', '203.0.113.7:99999', '203.0.113', ':8189'])('not an address: %s', (text) => {
  expect(() => announced(text)).toThrow('must be')
})

test('STUN and TURN servers, with and without a credential', () => {
  expect(iceServers('stun:stun.example.com:3478, turn:ada:secret@turn.example.com:3478?transport=udp')).toEqual([
    { url: 'stun:stun.example.com:3478' },
    { url: 'turn:turn.example.com:3478?transport=udp', user: 'ada', password: 'secret' },
  ])
  for (const text of ['https://example.com', 'stun:', 'turn:a b', 'turn:x"y'])
    expect(() => iceServers(text)).toThrow('must')
})

test('a number of proxies, or yes and no', () => {
  expect(['0', '1', '2', 'true', 'off'].map(proxies)).toEqual([0, 1, 2, 1, 0])
  for (const text of ['-1', '10', 'nginx']) expect(() => proxies(text)).toThrow('must be a number of proxies')
})

test('domains of reports, for all workspaces or for one', () => {
  const workspaceId = '0192f5a0-0000-7000-8000-000000000001'
  expect(reportDomains(`Reports.Acme.example, figures.example=${workspaceId}`)).toEqual([
    { host: 'reports.acme.example' },
    { host: 'figures.example', workspaceId },
  ])
  for (const text of ['https://a.example', 'a.example/x', 'a.example:8080', 'localhost', '10.0.0.1', 'a.example=acme'])
    expect(() => reportDomains(text)).toThrow('must name domains')
})

test('origins are kept as browsers send them', () => {
  expect(origins('https://App.Example.com:443/, http://localhost:5173,capacitor://localhost,*')).toEqual([
    'https://app.example.com',
    'http://localhost:5173',
    'capacitor://localhost',
    '*',
  ])
})

test.each(['app.example.com', 'https://app.example.com/path', '//app.example.com', 'https://', 'localhost:5173'])(
  'no origin: %s',
  (text) => {
    expect(() => origins(text)).toThrow('with their scheme')
  },
)
