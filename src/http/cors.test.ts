import { beforeEach, expect, test } from 'vitest'
import { createLog } from '../core/log.ts'
import { Cors } from './cors.ts'

let lines: Record<string, unknown>[]
beforeEach(() => {
  lines = []
})

function cors(origins: readonly string[] = [], trustedProxies = 0): Cors {
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  return new Cors(origins, trustedProxies, createLog({ level: 'info', destination }))
}

const from =
  (host: string, forwarded = '') =>
  () => ({ host, forwarded })

test.each([
  ['http://127.0.0.1:3000', '127.0.0.1:3000'],
  ['http://crier.local:3000', 'Crier.local:3000'],
  ['http://[::1]:3000', '[::1]:3000'],
  ['http://crier.example', 'crier.example:80'],
  ['https://crier.example', 'crier.example:443'],
  ['https://crier.example', 'crier.example'],
])('a page of %s may call a server with the host %s', (origin, host) => {
  expect(cors().allows(origin, from(host))).toBe(true)
})

test.each([
  ['http://127.0.0.1:4000', '127.0.0.1:3000'],
  ['http://evil.example', 'crier.example'],
  ['https://crier.example:80', 'crier.example:443'],
  ['null', 'null'],
  ['null', ''],
  ['file://', ''],
  ['nonsense', 'nonsense'],
  ['http://crier.example', 'evil@crier.example.org'],
])('a page of %s may not call a server with the host %s', (origin, host) => {
  expect(cors().allows(origin, from(host))).toBe(false)
})

test('X-Forwarded-Host is only used behind trusted proxies, and only the entries that they added', () => {
  const origin = 'https://crier.example'
  const behindProxy = from('10.0.0.7:3000', 'crier.example')
  expect(cors([], 0).allows(origin, behindProxy)).toBe(false)
  expect(cors([], 1).allows(origin, behindProxy)).toBe(true)
  expect(cors([], 1).allows('https://evil.example', from('10.0.0.7:3000', 'evil.example, crier.example'))).toBe(false)
  expect(cors([], 2).allows(origin, from('10.0.0.7:3000', 'crier.example, inner.local'))).toBe(true)
})

test('many refusals leave a few log lines that name the settings, and a count', () => {
  const some = cors(['https://app.example'])
  expect(some.allows('https://app.example', from('crier.example'))).toBe(true)
  expect(some.headersFor('', from('crier.example'))).toEqual([])
  expect(lines).toEqual([])
  for (let time = 0; time < 10_000; time += 1) some.headersFor('https://evil.example', from('crier.example'))
  some.flush()
  expect(lines).toHaveLength(6)
  expect(lines[0]).toMatchObject({ reason: 'https://evil.example', host: 'crier.example' })
  expect(lines[0]?.['msg']).toMatch(/CORS_ORIGINS and PUBLIC_URL/)
  expect(lines.at(-1)).toMatchObject({ count: 9_995 })
})
