import { write, writeSync } from 'node:fs'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LogWriter } from './log-writer.ts'

// The test decides how many bytes a write accepts, because real pipes accept everything or nothing.
vi.mock('node:fs', () => ({ write: vi.fn(), writeSync: vi.fn() }))

type Done = (error: NodeJS.ErrnoException | null, written: number) => void

let written: string
/** How many bytes the next writes accept, or the error that they fail with. */
let accepts: (number | string)[]
let waiting: (() => void)[]
let writer: LogWriter

const failure = (code: string) => Object.assign(new Error(code), { code })

function accept(bytes: Uint8Array, offset: number, length: number): number {
  if (offset < 0 || offset + length > bytes.length) throw failure('ERR_OUT_OF_RANGE')
  const next = accepts.shift() ?? length
  if (typeof next === 'string') throw failure(next)
  const taken = Math.min(next, length)
  written += Buffer.from(bytes.subarray(offset, offset + taken)).toString()
  return taken
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  written = ''
  accepts = []
  waiting = []
  vi.mocked(writeSync).mockImplementation(((_fd: number, bytes: Uint8Array, offset: number, length: number) =>
    accept(bytes, offset, length)) as typeof writeSync)
  vi.mocked(write).mockImplementation(((
    _fd: number,
    bytes: Uint8Array,
    offset: number,
    length: number,
    _position: null,
    done: Done,
  ) => {
    waiting.push(() => {
      try {
        done(null, accept(bytes, offset, length))
      } catch (error) {
        done(error as NodeJS.ErrnoException, 0)
      }
    })
  }) as unknown as typeof write)
  writer = new LogWriter(2)
})
afterEach(() => void vi.useRealTimers())

/** Ends the writes that are under way. */
function finish(): void {
  for (const end of waiting.splice(0)) end()
}

test('lines are gathered for a fifth of a second, and written one buffer at a time', () => {
  writer.write('one\n')
  writer.write('two\n')
  vi.advanceTimersByTime(199)
  expect(waiting).toHaveLength(0)
  vi.advanceTimersByTime(1)
  writer.write('three\n')
  vi.advanceTimersByTime(1_000)
  expect([waiting.length, written]).toEqual([1, ''])
  finish()
  expect(written).toBe('one\ntwo\n')
  vi.advanceTimersByTime(200)
  finish()
  expect(written).toBe('one\ntwo\nthree\n')
  vi.advanceTimersByTime(1_000)
  expect(waiting).toHaveLength(0)
})

test('the rest of a buffer is written soon after a partial write, and later after a refused one', () => {
  writer.write('abcdef\n')
  accepts = [2, 'EAGAIN', 3]
  writer.flush()
  finish()
  expect(written).toBe('ab')
  vi.advanceTimersByTime(1)
  finish()
  vi.advanceTimersByTime(19)
  expect(waiting).toHaveLength(0)
  vi.advanceTimersByTime(1)
  finish()
  expect(written).toBe('abcde')
  vi.advanceTimersByTime(1)
  finish()
  expect(written).toBe('abcdef\n')
})

test('a buffer that cannot be written is given up, and the next one is tried', () => {
  writer.write('lost\n')
  accepts = ['EPIPE']
  writer.flush()
  finish()
  writer.write('kept\n')
  writer.flush()
  finish()
  expect(written).toBe('kept\n')
})

test('lines that do not fit are counted, and the count comes first once there is room', () => {
  writer.write('begin\n')
  writer.flush()
  writer.write('x'.repeat(65_536))
  writer.write('a\n')
  writer.write('b\n')
  finish()
  expect(written).toBe('begin\n')
  writer.flush()
  finish()
  writer.write('end\n')
  writer.flush()
  finish()
  const [count, end] = written
    .slice('begin\n'.length + 65_536)
    .trim()
    .split('\n')
  expect(JSON.parse(count ?? '')).toEqual({ level: 40, dropped: 2, msg: 'log lines were dropped' })
  expect(end).toBe('end')
  writer.write('more\n')
  writer.flush()
  finish()
  expect(written.endsWith('end\nmore\n')).toBe(true)
})

test('the last lines are written synchronously, in as many parts as necessary', () => {
  writer.write('abcdef\n')
  accepts = [2, 'EAGAIN', 'EAGAIN', 3]
  writer.flushSync()
  expect(written).toBe('abcdef\n')
  writer.flushSync()
  expect(writeSync).toHaveBeenCalledTimes(5)
})

test('a process can exit even if its log cannot be written', () => {
  writer.write('lost\n')
  accepts = ['EPIPE']
  writer.flushSync()
  expect(written).toBe('')
  const now = vi.spyOn(performance, 'now')
  let time = 0
  now.mockImplementation(() => (time += 100))
  writer.write('stuck\n')
  accepts = Array.from({ length: 100 }, () => 'EAGAIN')
  writer.flushSync()
  now.mockRestore()
  expect(100 - accepts.length).toBe(4)
})
