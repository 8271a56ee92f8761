import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { createLog, lineSink } from './log.ts'
import { prettyLine, PrettyLog } from './pretty-log.ts'

function lines(write: (log: ReturnType<typeof createLog>) => void): string[] {
  let text = ''
  const log = createLog({ level: 'info', destination: new PrettyLog({ write: (line) => void (text += line) }) })
  write(log)
  return stripVTControlCharacters(text).trimEnd().split('\n')
}

test('terminal lines show time, level, part and message before the other fields', () => {
  const [admitted, request, plain] = lines((log) => {
    log.child({ part: 'media' }).warn({ streamId: 's-1', token: 'hunter2', why: 'two words' }, 'publisher admitted')
    lineSink(log)('{"level":30,"time":"2026-11-22T10:00:00.123Z","op":"listPlans","status":200,"ms":3.1}\n')
    lineSink(log)('no JSON\n')
  })
  expect(admitted).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} WARN  media publisher admitted streamId=s-1 token="\[secret\]" why="two words"$/,
  )
  expect(request).toBe('10:00:00.123 INFO  listPlans 200 3.1 ms')
  expect(plain).toBe('no JSON')
})

test('an error is shown with its stack below the line', () => {
  const [line, ...stack] = lines((log) => log.error({ error: new TypeError('broken') }, 'it failed'))
  expect(line).toMatch(/ERROR it failed$/)
  expect(stack[0]).toBe('    TypeError: broken')
  expect(stack.length).toBeGreaterThan(1)
})

test('a level shows as the highest one that it reaches', () => {
  const levelOf = (level: number) =>
    stripVTControlCharacters(prettyLine(`${JSON.stringify({ level, time: '2026-11-22T10:00:00.123Z' })}\n`)).slice(
      13,
      18,
    )
  expect([60, 50, 49, 40, 39, 30, 29, 0].map(levelOf)).toEqual([
    'ERROR',
    'ERROR',
    'WARN ',
    'WARN ',
    'INFO ',
    'INFO ',
    'DEBUG',
    'DEBUG',
  ])
})

test('an error without a stack is shown as a field, and a line needs no other field', () => {
  const plain = (line: object) => stripVTControlCharacters(prettyLine(JSON.stringify(line)))
  const time = '2026-11-22T10:00:00.123Z'
  expect(plain({ time, error: { message: 'no disk' } })).toBe('10:00:00.123 INFO  error="no disk"\n')
  expect(plain({ time, error: 'away', msg: 'no disk' })).toBe('10:00:00.123 INFO  no disk error=away\n')
  expect(plain({ time, op: 'listPlans', msg: 'slow', n: 3 })).toBe('10:00:00.123 INFO  listPlans   ms slow n=3\n')
  expect(plain({})).toBe(' INFO \n')
})
