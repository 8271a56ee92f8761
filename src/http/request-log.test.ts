import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Registry } from 'prom-client'
import { RateLimited, Unauthorized } from '../core/errors.ts'
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
