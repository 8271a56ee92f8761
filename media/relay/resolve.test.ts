import { expect, test } from 'vitest'
import { checkAddress } from '../../src/tools/public-address.ts'
import { DestinationUrlError, parseDestinationUrl } from '../../src/tools/destination-url.ts'
import { resolveHost } from './resolve.ts'

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.9',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2a00:1450:4001::5efe:7f00:1',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  'localhost',
  '',
  '256.1.1.1',
])('%s is not an allowed address', (address) => {
  expect(checkAddress(address)).toMatchObject({ allowed: false, reason: expect.any(String) as string })
})

test.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '192.169.0.1', '2a00:1450:4001:82b::200e', '2606:4700::1111'])(
  '%s is an allowed address',
  (address) => {
    expect(checkAddress(address)).toEqual({ allowed: true })
  },
)

test.each([
  ['127.0.0.1', 'rtmp://127.0.0.1/app'],
  ['127.0.0.1', 'rtmp://127.1/app'],
  ['127.0.0.1', 'rtmp://2130706433/app'],
  ['127.0.0.1', 'rtmp://0x7f.0.0.1/app'],
  ['127.0.0.1', 'rtmp://0177.0.0.01/app'],
  ['127.0.0.1', 'rtmp://017700000001/app'],
  ['127.0.0.1', 'rtmp://１２７.0.0.1/app'],
  ['127.0.0.1', 'rtmp://%31%32%37.0.0.1/app'],
  ['::1', 'rtmp://[::1]/app'],
  ['::1', 'rtmp://[0:0:0:0:0:0:0:1]/app'],
  ['::ffff:7f00:1', 'rtmp://[::ffff:127.0.0.1]/app'],
  ['localhost', 'rtmp://LOCALHOST/app'],
  ['localhost', 'rtmp://%6cocalhost/app'],
  ['localhost', 'rtmp://localhost./app'],
])('refuses %s, written as %s', async (host, url) => {
  const target = parseDestinationUrl(url)
  expect(target.host).toBe(host)
  await expect(resolveHost(target.host, false)).rejects.toMatchObject({ code: 'address_refused' })
})

test('resolves private addresses when they are allowed', async () => {
  await expect(resolveHost('127.0.0.1', true)).resolves.toEqual([{ address: '127.0.0.1', family: 4 }])
  const local = await resolveHost('localhost', true)
  expect(local.length).toBeGreaterThan(0)
})

test('reports a name without an address', async () => {
  await expect(resolveHost('nothing.invalid', false)).rejects.toMatchObject({ code: 'dns_failed' })
})

test.each([
  [
    'rtmps://a.rtmps.youtube.com:443/live2?backup=1',
    {
      secure: true,
      host: 'a.rtmps.youtube.com',
      port: 443,
      app: 'live2?backup=1',
      tcUrl: 'rtmps://a.rtmps.youtube.com:443/live2?backup=1',
    },
  ],
  [
    'rtmp://live.twitch.tv/app/',
    { secure: false, host: 'live.twitch.tv', port: 1935, app: 'app', tcUrl: 'rtmp://live.twitch.tv/app' },
  ],
  [
    'RTMPS://Bücher.Example/a/b',
    {
      secure: true,
      host: 'xn--bcher-kva.example',
      port: 443,
      app: 'a/b',
      tcUrl: 'rtmps://xn--bcher-kva.example/a/b',
    },
  ],
  [
    'rtmp://[2606:4700:0:0:0:0:0:1111]:1936/x',
    {
      secure: false,
      host: '2606:4700::1111',
      port: 1936,
      app: 'x',
      tcUrl: 'rtmp://[2606:4700::1111]:1936/x',
    },
  ],
])('parses %s', (url, target) => {
  expect(parseDestinationUrl(url)).toEqual(target)
})

test.each([
  ['', /control character|not a URL/],
  ['live.example.com/app', /not a URL/],
  ['http://example.com/app', /rtmp:\/\/ or rtmps:\/\//],
  ['file:///etc/passwd', /rtmp:\/\/ or rtmps:\/\//],
  ['rtmp:///app', /has no host|not a URL/],
  ['rtmp://example.com', /has no application/],
  ['rtmp://example.com/', /has no application/],
  ['rtmp://example.com/?x=1', /has no application/],
  ['rtmp://user:password@example.com/app', /user name/],
  ['rtmp://example.com/app#x', /"#"/],
  ['rtmp://example.com:22/app', /Port 22/],
  ['rtmp://example.com:5432/app', /Port 5432/],
  ['rtmp://example.com:6379/app', /Port 6379/],
  ['rtmp://example.com:0/app', /Port 0/],
  ['rtmp://example.com:70000/app', /not a URL/],
  ['rtmp://exa mple.com/app', /space/],
  ['rtmp://example.com/app\r\nX: y', /control character/],
  ['rtmp://example.com/a\u0000b', /control character/],
  ['rtmp://-example.com/app', /not a valid/],
  ['rtmp://example..com/app', /not a valid/],
  ['rtmp://127.0.0.1.5/app', /not a valid/],
  ['rtmp://1.2.3.256/app', /not a valid/],
  ['rtmp://[fe80::1%25eth0]/app', /not a URL|IPv6/],
  [`rtmp://example.com/${'a'.repeat(3_000)}`, /longer than/],
])('refuses %s', (url, message) => {
  expect(() => parseDestinationUrl(url)).toThrow(DestinationUrlError)
  expect(() => parseDestinationUrl(url)).toThrow(message)
})
