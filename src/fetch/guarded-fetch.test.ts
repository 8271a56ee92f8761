import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GuardedFetcher } from './guarded-fetch.ts'
import { findTarget, type TargetRules } from './target.ts'

const LIMITS = { maxBytes: 1_000, timeoutMs: 2_000 }

describe('refuses URLs of internal addresses in any notation', () => {
  test.each([
    ['http://127.0.0.1/', 'loopback'],
    ['http://127.1/', 'loopback'],
    ['http://2130706433/', 'loopback'],
    ['http://0x7f000001/', 'loopback'],
    ['http://0177.0.0.1/', 'loopback'],
    ['http://017700000001/', 'loopback'],
    ['http://１２７.０.０.１/', 'loopback'],
    ['http://127。0。0。1/', 'loopback'],
    ['http://127.0.0.1./', 'loopback'],
    ['http://[::1]/', 'loopback'],
    ['http://[::]/', 'unspecified'],
    ['http://0/', 'unspecified'],
    ['http://[::ffff:127.0.0.1]/', 'IPv4-mapped'],
    ['http://[::ffff:7f00:1]/', 'IPv4-mapped'],
    ['http://[::127.0.0.1]/', 'address'],
    ['http://[64:ff9b::7f00:1]/', 'NAT64'],
    ['http://[64:ff9b:1::7f00:1]/', 'address'],
    ['http://[2002:7f00:1::]/', '6to4'],
    ['http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/', 'Teredo'],
    ['http://[fe80::1]/', 'link-local'],
    ['http://[fd00::1]/', 'unique local'],
    ['http://[2606:4700::5efe:127.0.0.1]/', 'ISATAP'],
    ['http://10.0.0.1/', 'private'],
    ['http://172.31.255.255/', 'private'],
    ['http://192.168.1.1:8080/', 'private'],
    ['http://100.64.0.1/', 'carrier-grade NAT'],
    ['http://169.254.169.254/latest/meta-data', 'metadata'],
    ['http://168.63.129.16/', 'metadata'],
    ['http://224.0.0.1/', 'multicast'],
    ['http://255.255.255.255/', 'broadcast'],
    ['http://192.0.2.1/', 'reserved'],
    ['http://0.1.2.3/', 'unspecified'],
    ['http://198.18.0.1/', 'reserved'],
    ['http://240.0.0.1/', 'reserved'],
    ['http://[fec0::1]/', 'reserved'],
    ['http://[ff02::1]/', 'multicast'],
    ['http://[2001:db8::1]/', 'reserved'],
    ['http://[2001:2::1]/', 'reserved'],
    ['http://[fe80::1%25eth0]/', 'not a valid URL'],
    ['http://127.0.0.1:80\\@93.184.216.34/', 'loopback'],
    ['http://localhost/', 'loopback'],
    ['http://localhost./', 'loopback'],
    ['http://user:secret@93.184.216.34/', 'user name'],
    ['http://93.184.216.34@127.0.0.1/', 'user name'],
    ['http://93.184.216.34:22/', 'port 22 is not allowed. Use one of 80, 443, 8080, 8443'],
    ['http://93.184.216.34:6379/', 'port 6379'],
    ['ftp://93.184.216.34/', 'ftp:'],
    ['file:///etc/passwd', 'file:'],
    ['gopher://93.184.216.34/', 'gopher:'],
    ['javascript:alert(1)', 'javascript:'],
    ['//93.184.216.34/', 'not a valid URL'],
    ['http:///', 'not a valid URL'],
    [`http://93.184.216.34/${'a'.repeat(3_000)}`, 'longer than 2048 characters'],
  ])('refuses %s: %s', async (url, reason) => {
    await expect(findTarget(url)).rejects.toMatchObject({
      code: 'url_refused',
      message: expect.stringContaining(reason),
    })
  })

  test.each(['http://93.184.216.34/', 'https://93.184.216.34/a?b', 'http://[2606:4700:4700::1111]/'])(
    'accepts the public address %s',
    async (url) => {
      expect((await findTarget(url)).url.href).toBe(url)
    },
  )

  test.each([
    [['10.0.0.1'], 'private'],
    [['::ffff:10.0.0.1', '169.254.169.254'], 'IPv4-mapped'],
  ])('refuses a host name that resolves to %s', async (addresses, reason) => {
    const rules = { resolve: async () => addresses }
    const message = expect.stringContaining(reason)
    await expect(findTarget('http://inside.example/', rules)).rejects.toMatchObject({ code: 'url_refused', message })
  })

  test('looks up an internationalized host name in its ASCII form', async () => {
    const hosts: string[] = []
    const resolve = async (host: string) => {
      hosts.push(host)
      return ['93.184.216.34']
    }
    await findTarget('http://bücher.example./', { resolve })
    expect(hosts).toEqual(['xn--bcher-kva.example'])
  })
})

/** In these tests, 127.0.0.2 represents a public address and 127.0.0.1 an internal one. */
describe('fetching', () => {
  let outside: Server
  let inside: Server
  let port: number
  const requests: IncomingMessage[] = []
  let insideRequests = 0

  beforeAll(async () => {
    outside = createServer((request, reply) => {
      requests.push(request)
      const url = new URL(request.url ?? '/', 'http://x')
      if (url.pathname === '/to') reply.writeHead(302, { Location: url.searchParams.get('url') ?? '' }).end()
      else if (url.pathname === '/loop') reply.writeHead(301, { Location: '/loop' }).end()
      else if (url.pathname === '/endless') {
        reply.writeHead(200)
        const more = () => {
          while (!reply.destroyed && reply.write(Buffer.alloc(65_536)));
        }
        reply.on('drain', more)
        more()
      } else if (url.pathname === '/silent') reply.flushHeaders()
      else if (url.pathname === '/compressed') {
        reply.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipSync(Buffer.alloc(500_000)))
      } else if (url.pathname === '/headers') reply.writeHead(200, { 'X-Long': 'x'.repeat(100_000) }).end()
      else if (url.pathname === '/slow') {
        const timer = setInterval(() => reply.write('x'), 20)
        reply.on('close', () => clearInterval(timer))
      } else reply.writeHead(200, { 'Content-Type': 'text/plain' }).end('hello')
    })
    inside = createServer((_request, reply) => {
      insideRequests += 1
      reply.end('secret')
    })
    await new Promise<void>((resolve) => outside.listen(0, '127.0.0.2', resolve))
    port = (outside.address() as AddressInfo).port
    await new Promise<void>((resolve) => inside.listen(port, '127.0.0.1', resolve))
  })
  afterAll(() => {
    for (const server of [outside, inside]) {
      server.closeAllConnections()
      server.close()
    }
  })

  const OPEN = { allowed: true } as const
  const check = (address: string) => (address === '127.0.0.2' ? OPEN : { allowed: false as const, reason: 'inside' })
  const fetcher = (rules: TargetRules = {}) => new GuardedFetcher({ check, ports: 'any', ...rules })

  test('connects to the checked address, with the host of the URL and without credentials', async () => {
    let lookups = 0
    const rebinding = async () => {
      lookups += 1
      return [lookups === 1 ? '127.0.0.2' : '127.0.0.1']
    }
    requests.length = 0
    const found = await fetcher({ resolve: rebinding }).get(`http://media.example:${port}/a?b=1`, LIMITS)
    expect(found).toMatchObject({ status: 200, contentType: 'text/plain', size: 5, complete: true })
    expect([found.bytes.toString(), lookups, insideRequests]).toEqual(['hello', 1, 0])
    expect(requests[0]?.headers.host).toBe(`media.example:${port}`)
    expect(requests[0]?.url).toBe('/a?b=1')
    expect(Object.keys(requests[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(['authorization', 'cookie']))
    // The second lookup returns an internal address, which is refused before connecting.
    await expect(fetcher({ resolve: rebinding }).get(`http://media.example:${port}/`, LIMITS)).rejects.toMatchObject({
      code: 'url_refused',
    })
    expect(insideRequests).toBe(0)
  })

  test('tries only the public ones of several addresses, in order', async () => {
    const many = async () => ['127.0.0.1', '127.0.0.3', '127.0.0.2']
    const rules = { resolve: many, check: (address: string) => (address === '127.0.0.3' ? OPEN : check(address)) }
    const found = await fetcher(rules).get(`http://media.example:${port}/`, LIMITS)
    expect([found.bytes.toString(), insideRequests]).toEqual(['hello', 0])
  })

  test('does not decompress replies, and aborts on long headers and slow bodies', async () => {
    const at = (path: string, limits = LIMITS) => fetcher().get(`http://127.0.0.2:${port}${path}`, limits)
    expect((await at('/compressed')).bytes.length).toBeLessThan(1_000)
    await expect(at('/headers')).rejects.toMatchObject({ code: 'url_unreachable' })
    await expect(at('/slow', { ...LIMITS, timeoutMs: 300 })).rejects.toMatchObject({ code: 'url_unreachable' })
  })

  test('checks every redirect', async () => {
    const start = `http://127.0.0.2:${port}/to?url=`
    expect((await fetcher().get(`${start}${encodeURIComponent('/next')}`, LIMITS)).url).toMatch(/\/next$/)
    for (const target of [`http://127.0.0.1:${port}/`, 'file:///etc/passwd', `http://a:b@127.0.0.2:${port}/`, '']) {
      await expect(fetcher().get(`${start}${encodeURIComponent(target)}`, LIMITS)).rejects.toMatchObject({
        code: 'url_refused',
      })
    }
    await expect(fetcher().get(`http://127.0.0.2:${port}/loop`, LIMITS)).rejects.toMatchObject({
      message: expect.stringContaining('more than 5 times'),
    })
    expect(insideRequests).toBe(0)
  })

  test('enforces the limits on bytes and time', async () => {
    const found = await fetcher().get(`http://127.0.0.2:${port}/endless`, LIMITS)
    expect([found.bytes.length, found.complete]).toEqual([1_000, false])
    await expect(fetcher().get(`http://127.0.0.2:${port}/silent`, { ...LIMITS, timeoutMs: 200 })).rejects.toMatchObject(
      { code: 'url_unreachable', message: expect.stringContaining('within 0.2 s') },
    )
  })

  test('fetches private addresses if the installation allows them', async () => {
    const found = await GuardedFetcher.of(true).get(`http://127.0.0.1:${port}/`, LIMITS)
    expect(found.bytes.toString()).toBe('secret')
  })
})
