import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Registry } from 'prom-client'
import { InternalError, NotFound, RateLimited, Unauthorized } from '../core/errors.ts'
import { createLog } from '../core/log.ts'
import { HttpMetrics } from './metrics.ts'
import { NO_OPERATION, RequestLog, type RequestRecord } from './request-log.ts'

let lines: Record<string, unknown>[]
let requestLog: RequestLog

beforeEach(() => {
  vi.useFakeTimers()
  lines = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  requestLog = new RequestLog(createLog({ level: 'info', destination }), new HttpMetrics(new Registry()))
})
afterEach(() => vi.useRealTimers())

const base: RequestRecord = {
  ...NO_OPERATION,
  op: 'listStreams',
  status: 200,
  requestId: 'r',
  failure: undefined,
  aborted: false,
}
const write = (times: number, record: Partial<RequestRecord>) => {
  for (let count = 0; count < times; count++) requestLog.write({ ...base, ...record })
}

test('many requests without a credential leave a hundred lines and a count', () => {
  write(84_000, { status: 401, failure: Unauthorized() })
  expect(lines).toHaveLength(100)
  vi.advanceTimersByTime(10_000)
  expect(lines).toHaveLength(101)
  expect(lines.at(-1)).toMatchObject({ msg: 'requests refused', op: 'listStreams', status: 401, count: 83_900 })
  write(1, { status: 401, failure: Unauthorized() })
  expect(lines.at(-1)).toMatchObject({ msg: 'request', status: 401 })
})

test('each kind of refusal is counted separately, and every request of a user leaves a line', () => {
  write(150, { status: 401, failure: Unauthorized() })
  write(150, { status: 429, failure: RateLimited(), userId: 'ada', via: 'token' })
  expect(lines).toHaveLength(200)
  write(150, {})
  write(150, { status: 401, failure: Unauthorized(), userId: 'ada', via: 'token' })
  expect(lines).toHaveLength(500)
})

test('durations are rounded to hundredths of a millisecond, in lines of errors too', () => {
  for (const ms of [0, 0.004, 1.005, 12.345, 12.3, 9_999.999, 10_000.126]) write(1, { ms })
  expect(lines.map(({ ms }) => ms)).toEqual([0, 0, 1, 12.35, 12.3, 10_000, 10_000.13])
  write(1, { ms: 12.345, status: 500, failure: InternalError({ cause: new Error('no') }) })
  expect(lines.at(-1)).toMatchObject({ level: 50, ms: 12.35, error: 'internal_error' })
})

test('a line names what is known of the caller, and whether the reply was repeated or aborted', () => {
  write(1, {})
  write(1, { userId: 'ada', via: 'token', workspaceId: 'w', replayed: true, aborted: true })
  write(1, { status: 402, failure: NotFound({ hint: 'Set "DEFAULT_PLAN".' }) })
  expect(lines.pop()).toMatchObject({ status: 402, error: 'not_found', hint: 'Set "DEFAULT_PLAN".', msg: 'request' })
  const time: unknown = expect.any(String)
  const line = { level: 30, time, op: 'listStreams', status: 200, ms: 0, requestId: 'r', msg: 'request' }
  expect(lines).toEqual([
    line,
    { ...line, userId: 'ada', via: 'token', workspaceId: 'w', replayed: true, aborted: true },
  ])
})

test('exactly a hundred refusals leave no count, and a flush starts the count again', () => {
  write(100, { status: 401, failure: Unauthorized() })
  requestLog.flush()
  expect([lines.length, vi.getTimerCount()]).toEqual([100, 0])
  write(102, { status: 401, failure: Unauthorized() })
  requestLog.flush()
  expect(lines.slice(200)).toMatchObject([{ msg: 'requests refused', count: 2, seconds: 10, error: 'unauthorized' }])
})
