import { expect, test } from 'vitest'
import { CallRecorder } from './call-recorder.ts'
import type { LoggedCall } from './platform-http.ts'

const call = (ms: number): LoggedCall => ({
  at: '2026-11-22T12:00:00.000Z',
  method: 'GET',
  url: 'https://a.example/',
  ms,
})

function recorded(count: number) {
  const recorder = new CallRecorder()
  for (let index = 0; index < count; index += 1) recorder.add(call(index))
  const { calls, omittedCount } = recorder.recorded()
  return { ids: calls.map(({ ms }) => ms), omittedCount }
}

test('keeps all calls of a usual attempt', () => {
  expect(recorded(0)).toEqual({ ids: [], omittedCount: 0 })
  expect(recorded(40)).toEqual({ ids: Array.from({ length: 40 }, (_, index) => index), omittedCount: 0 })
})

test('keeps the first and the last calls of a long attempt, and counts the others', () => {
  const { ids, omittedCount } = recorded(1_000)
  expect(omittedCount).toBe(960)
  expect([...ids.slice(0, 11), ids.at(-1)]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 970, 999])
})
