import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { GuardedFetcher } from '../../../../fetch/guarded-fetch.ts'
import { PLATFORMS } from '../../../../platforms/registry.ts'
import { effectiveLimits } from '../../../../platforms/rules/limits.ts'
import { UrlCheck } from './url-check.ts'

/** Checks of media URLs. `src/fetch` tests that private addresses are refused. */

let server: Server
let url: string
const check = new UrlCheck(GuardedFetcher.of(true), (platform) =>
  effectiveLimits(platform, platform.key === 'mastodon' ? new Map([['image.maxBytes', 10]]) : undefined),
)

beforeAll(async () => {
  const png = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  server = createServer((request, reply) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x')
    if (pathname === '/moved') reply.writeHead(302, { Location: '/a.png' }).end()
    else if (pathname === '/gone') reply.writeHead(404).end()
    else if (pathname === '/page') reply.writeHead(200, { 'Content-Type': 'image/png' }).end('<!doctype html><p>')
    else if (pathname === '/large') {
      reply.writeHead(206, { 'Content-Type': 'image/png', 'Content-Range': `bytes 0-${png.length - 1}/900000000` })
      reply.end(png)
    } else {
      const type = pathname === '/lies' ? 'image/jpeg' : 'image/png'
      reply.writeHead(200, { 'Content-Type': type, 'Content-Length': png.length }).end(png)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

test('reports type, size, dimensions and accepting platforms, also after a redirect', async () => {
  for (const path of ['/a.png', '/moved']) {
    const found = await check.check(url + path, ['instagram', 'x'])
    expect(found).toMatchObject({
      url: `${url}/a.png`,
      reachable: true,
      error: null,
      type: 'image/png',
      kind: 'image',
      width: 40,
      height: 30,
    })
    expect(found.size).toBeGreaterThan(50)
    expect(found.platforms.map(({ platform }) => platform)).toEqual(['instagram', 'x'])
    for (const { seen, source } of found.platforms) expect([seen, source]).not.toContain('')
  }
})

test('reports why a platform would refuse the file', async () => {
  const { platforms, size } = await check.check(`${url}/large`, ['x'])
  expect(size).toBe(900_000_000)
  expect(platforms).toMatchObject([{ platform: 'x', accepted: false, refusals: [expect.stringMatching(/\w/)] }])
})

test('checks all platforms, with the limits of this server', async () => {
  const { platforms } = await check.check(`${url}/a.png`)
  expect(platforms.map(({ platform }) => platform)).toEqual(PLATFORMS.map(({ key }) => key))
  expect(platforms.find(({ platform }) => platform === 'mastodon')).toMatchObject({
    accepted: false,
    refusals: [expect.stringMatching(/“a\.png” has .+; Mastodon allows 10 bytes/)],
    source: 'your administrator',
    seen: null,
  })
  expect(platforms.find(({ platform }) => platform === 'reddit')).toMatchObject({ accepted: true, refusals: [] })
})

test.each([
  ['/lies', true, /Content-Type header is image\/jpeg, but the file is a PNG/, null],
  ['/page', true, /./, 'unsupported_file'],
  ['/gone', false, /answered 404/, null],
])('reports the problem of %s', async (path, reachable, problem, code) => {
  const found = await check.check(url + path)
  expect([found.reachable, found.code]).toEqual([reachable, code])
  expect(found.error).toMatch(problem)
})
