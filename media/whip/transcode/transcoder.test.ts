import { afterEach, expect, test, vi } from 'vitest'
import { Transcoder } from './transcoder.ts'

afterEach(() => vi.restoreAllMocks())

/** A program that reads all it is given and says nothing, as an ffmpeg does that hangs. */
function startSilent(onFailure: (reason: string) => void): Transcoder {
  const line = (): void => {}
  return new Transcoder({
    path: '/bin/sh',
    args: ['-c', 'while :; do read line || exit; done'],
    track: { codec: 'opus' },
    origin: 0,
    onTag: () => {},
    onFailure,
    log: { debug: line, info: line, warn: line, error: line },
    sessionId: 'session',
  })
}

test('an ffmpeg that is fed and gives nothing out is ended', () => {
  const failures: string[] = []
  const transcoder = startSilent((reason) => failures.push(reason))
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  for (let frame = 0; frame <= 500 && failures.length === 0; frame++, now += 20) {
    transcoder.write(frame * 20, true, Buffer.alloc(40))
  }
  now += 20
  transcoder.write(12_000, true, Buffer.alloc(40))
  expect(failures).toEqual(['ffmpeg gives nothing out'])
})

test('a pause of the one who sends is no hang', () => {
  const failures: string[] = []
  const transcoder = startSilent((reason) => failures.push(reason))
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  transcoder.write(0, true, Buffer.alloc(40))
  now += 60_000
  transcoder.write(60_000, true, Buffer.alloc(40))
  expect(failures).toEqual([])
  transcoder.kill()
})
